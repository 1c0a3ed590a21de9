package scones

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/ot"
	"coupling/ot/gaussian"
	"coupling/score/scones"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
)

type plotter = plot.Plotter

// Rate is Appendix B.1: how fast estimated plans come near the true one.
func Rate() lab.Study[RateParams, RateOut] {
	return lab.Study[RateParams, RateOut]{
		Name:  "scones/rate",
		Title: "Appendix B.1: how fast Sinkhorn plans are estimated",
		Shows: "The entropic plan between samples of two Gaussians against the closed form, over the number of " +
			"samples. The potential and the plan seen by one fixed function, E⟨x,y⟩, have errors of n^{−1/2} in " +
			"every dimension. The distance W_{1} of the plans, which is what the appendix bounds by n^{−1/2}, has " +
			"not: it is at least that of the sampled marginal from the true one, drawn here from below, and that is " +
			"n^{−1/d}. The proof takes the Lipschitz function that depends on the sample for one that does not.",
		Sizes: kit.Sizes("n = %v, d = %v, %v samples",
			kit.Per{"20 to 80", "50 to 800", "50 to 1600", "50 to 6400"},
			kit.Per{"2 and 8", "1, 2 and 8", "1, 2 and 8", "1, 2 and 8"}, kit.Per{3, 20, 20, 50}),
		Seconds:    kit.ByPreset(.1, 12, 60, 3000),
		Experiment: rateOf,
		Grid:       rateGrid,
		Draw:       drawRate,
		Claims:     claimRate,
	}
}

// RateParams are one dimension and sample size.
type RateParams struct {
	D    int `json:"d" min:"1" doc:"dimension"`
	N    int `json:"n" min:"2" doc:"points of each side"`
	Runs int `json:"runs" min:"1" doc:"draws of the points, over which errors are averaged"`
	W1   int `json:"w1" min:"0" doc:"runs of exact transport; 0: none"`
}

// RateOut are root mean squares over runs. Marginal is half the mean W₁ of two samples, a lower
// bound of that of one from the distribution.
type RateOut struct {
	Potential float64 `json:"potential"` // of ψ, at fresh points of the target, its mean taken off, over λ
	Function  float64 `json:"function"`  // of E⟨x,y⟩, relative
	Marginal  float64 `json:"marginal"`
}

var rateOf = lab.Experiment[RateParams, RateOut]{Name: "scones/rate", Version: 1, Run: runRate}

func rateGrid(set lab.Setting) (out []RateParams) {
	p := set.Preset
	for _, d := range kit.Smoke(p, []int{2, 8}, []int{1, 2, 8}) {
		for n := kit.Smoke(p, 20, 50); n <= lab.Pick(p, 80, 800, 1600, 6400); n *= 2 {
			r := RateParams{D: d, N: n, Runs: lab.Pick(p, 3, 20, 20, 50)}
			if n <= 400 {
				r.W1 = lab.Pick(p, 3, 10, 10, 20)
			}
			out = append(out, r)
		}
	}
	return out
}

// flatRate gives every sample size the errors of the smallest, and the marginal a rate of n^{−1/2}, which it has not.
func flatRate(cells []rateCell) {
	for i := range cells {
		first := slices.IndexFunc(cells,
			func(r rateCell) bool { return r.Params.D == cells[i].Params.D })
		v := cells[first].Value
		v.Marginal *= math.Sqrt(float64(cells[first].Params.N) / float64(cells[i].Params.N))
		cells[i].Value = v
	}
}

func runRate(ctx context.Context, c *lab.Cell, p RateParams) (out RateOut, err error) {
	source, target := gaussian.Normal{Cov: isotropic(p.D, 1)}, gaussian.Normal{Cov: isotropic(p.D, 2)}
	lambda := 3 * float64(p.D) // the mean cost
	truth := lab.Must(gaussian.Entropic{Eps: lambda}.Solve(source, target))
	_, exactPsi := scones.Potentials(truth)
	fresh := lab.Must(target.Sample(c.Rand("fresh"), 500))
	inner := mat.Trace(truth.Cross())
	rng := c.Rand(fmt.Sprintf("samples %d %d", p.D, p.N))
	for run := range p.Runs {
		x, y := lab.Must(source.Sample(rng, p.N)), lab.Must(target.Sample(rng, p.N))
		plan := lab.Must(ot.Solve(ctx, ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)}, lambda))
		_, psi, err := scones.FromPlan(plan, x, y, false)
		lab.Check(err)
		off := deviation(psi, exactPsi, fresh)
		var products mat.Dense
		products.MulElem(x, plan.Barycentric(y))
		got := mat.Sum(&products) / float64(p.N)
		out.Potential += off * off / (lambda * lambda) / float64(p.Runs)
		out.Function += (got/inner - 1) * (got/inner - 1) / float64(p.Runs)
		if run < p.W1 {
			again := lab.Must(source.Sample(rng, p.N))
			uniform := make([]float64, p.N)
			floats.AddConst(1/float64(p.N), uniform)
			out.Marginal += wasserstein(ctx, x, again, uniform) / 2 / float64(p.W1)
		}
		c.Progress(run+1, p.Runs)
	}
	out.Potential, out.Function = math.Sqrt(out.Potential), math.Sqrt(out.Function)
	if p.W1 == 0 {
		out.Marginal = math.NaN()
	}
	return out, nil
}

// deviation is the standard deviation of the difference of two potentials, which a constant does not change.
func deviation(a, b scones.Potential, at *mat.Dense) float64 {
	n, _ := at.Dims()
	u, v := make([]float64, n), make([]float64, n)
	lab.Check(errors.Join(a.Eval(u, nil, at), b.Eval(v, nil, at)))
	floats.Sub(u, v)
	return stat.StdDev(u, nil)
}

type rateCell = lab.Result[RateParams, RateOut]

// The errors of cells.
func (o RateOut) potential() float64 { return o.Potential }
func (o RateOut) function() float64  { return o.Function }
func (o RateOut) marginal() float64  { return o.Marginal }

// slope is the least-squares slope of the logarithm of an error over log n.
func slope(cells []rateCell, of func(RateOut) float64) float64 {
	var a, b []float64
	for _, c := range cells {
		if v := of(c.Value); v > 0 {
			a, b = append(a, math.Log(float64(c.Params.N))), append(b, math.Log(v))
		}
	}
	_, s := stat.LinearRegression(a, b, nil, false)
	return s
}

// byDimension are the cells of each dimension, over n.
func byDimension(cells []rateCell) [][]rateCell {
	return kit.Runs(cells, func(c rateCell) int { return c.Params.D })
}

func drawRate(v lab.View[RateParams, RateOut]) (lab.Exhibit, error) {
	all := byDimension(v.Cells)
	panels := style.Panels{}
	for _, kind := range []struct {
		title, label string
		of           func(RateOut) float64
	}{
		{"potential", "error of ψ/λ", RateOut.potential},
		{"one function", "relative error of E⟨x,y⟩", RateOut.function},
		{"marginal, a lower bound of W_{1}", "W_{1}", RateOut.marginal},
	} {
		var items []plot.Plotter
		for k, cells := range all {
			items = append(items,
				kit.Line(style.Line{Name: fmt.Sprintf("d = %d", cells[0].Params.D), Series: k, Marks: true}, cells,
					func(c rateCell) (x, y float64) {
						return float64(c.Params.N), kind.of(c.Value)
					}))
		}
		top := kind.of(all[len(all)-1][0].Value)
		items = append(items, kit.Line(style.Line{Name: "n^{−1/2}", Color: style.DarkGrey, Series: 3}, all[0],
			func(c rateCell) (x, y float64) {
				return float64(c.Params.N), .6 * top * math.Sqrt(float64(all[0][0].Params.N)/float64(c.Params.N))
			}))
		panels.Items = append(panels.Items, kit.LogLog(kind.title, "samples n", kind.label, 1, items...))
	}
	table := kit.Table("slopes", "Slopes of the logarithms over log n", "d | potential | E⟨x,y⟩ | W₁ of the marginal")
	for _, cells := range all {
		table.Rows = append(table.Rows, kit.Row("%v | %.2f | %.2f | %.2f", cells[0].Params.D,
			slope(cells, RateOut.potential), slope(cells, RateOut.function), slope(cells, RateOut.marginal)))
	}
	return lab.Exhibit{
		Pictures: kit.Wide(panels, v.Badge(fmt.Sprintf("%d samples", v.Cells[0].Params.Runs)),
			"Plans between n samples each of N(0, I) and N(0, 2I) at λ = 3d, the mean cost, against the closed "+
				"form. Right: half of W₁ between two samples of the source, on average at most the W₁ of one from "+
				"the distribution, which is at most that of the plans."),
		Tables: []lab.Table{table},
	}, nil
}

func claimRate(v lab.View[RateParams, RateOut]) (out []lab.Claim, err error) {
	small, null := kit.Smoke(v.Preset, "three samples of at most 80 points", ""),
		kit.NullOf("errors that no sample size reduces", rateOf, flatRate)
	short := lab.Pick(v.Preset, small, "n up to 800 is too short a range for this slope: at d = 8 it was −0.69", "", "")
	for _, cells := range byDimension(v.Cells) {
		d := cells[0].Params.D
		out = append(out,
			kit.NearUnless(small, fmt.Sprintf("rate of the potential, d = %d", d), "Proposition B.3",
				slope(cells, RateOut.potential), -.5, .1, "root mean squares of 20 runs have an error of 16 % each",
				null),
			kit.NearUnless(short, fmt.Sprintf("rate of E⟨x,y⟩, d = %d", d), "Appendix B.1, for a fixed function",
				slope(cells, RateOut.function), -.5, .15, "the same", null))
		if d > 2 {
			out = append(out, kit.AtLeast(fmt.Sprintf("rate of W₁ of the marginal, d = %d", d),
				"Appendix B.1 claims −1/2 for W₁ of the plans", slope(cells, RateOut.marginal), -.25,
				"an erratum: W₁ of samples in d > 2 dimensions is n^{−1/d} (Dudley 1969)", null))
		}
	}
	return out, nil
}
