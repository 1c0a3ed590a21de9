package analytic

import (
	"context"
	"fmt"
	"math"

	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/ot"
	"coupling/ot/exact"

	"gonum.org/v1/gonum/interp"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
)

// Proposition1 is how the sharp and the regularised loss approach the Wasserstein distance.
func Proposition1() lab.Study[RatesParams, RatesOut] {
	return lab.Study[RatesParams, RatesOut]{
		Name:  "analytic/proposition1",
		Title: "Sharp and regularised loss against the exact distance",
		Shows: "As λ = 1/ε grows, the regularised loss approaches W like 1/λ, with the entropy of the optimal plan " +
			"as its constant, and the sharp loss exponentially. The exponent is not 1, as the proposition has it: " +
			"it is the smallest reduced cost of the exact problem, which carries the unit of cost that λ lacks.",
		Sizes: kit.Sizes("%v problems of %v × %v atoms, %v values of λ", kit.Per{3, 12, 40, 40},
			kit.Per{5, 8, 8, 12}, kit.Per{6, 9, 9, 13}, kit.Per{12, 29, 43, 43}),
		Seconds:    kit.ByPreset(.1, 1, 3, 20),
		Experiment: ratesOf,
		Grid:       ratesGrid,
		Draw:       drawProposition1,
		Claims:     claimProposition1,
	}
}

// RatesParams is one random problem, n×(n+1) points of the unit square with random weights, over λ = Scaled/δ, where δ
// is its own smallest reduced cost.
type RatesParams struct {
	N      int       `json:"n" min:"1" doc:"sources; there is one target more"`
	Draw   int       `json:"draw" min:"0" doc:"number of the draw of the problem"`
	Scaled []float64 `json:"scaled" min:">0" doc:"λδ, where δ is the smallest reduced cost"`
}

// RatesOut is what is known of the losses of one problem at each λ.
type RatesOut struct {
	W       float64   `json:"w"`       // exact
	Gap     float64   `json:"gap"`     // smallest reduced cost δ of an arc that the optimal plan does not use
	Entropy float64   `json:"entropy"` // h(P*) = Σ P*(1 − log P*)
	Arcs    int       `json:"arcs"`    // of the optimal plan: n + m − 1 where potentials are unique
	Proof   float64   `json:"proof"`   // the certificate's bound on W
	Lambda  []float64 `json:"lambda"`
	Sharp   []float64 `json:"sharp"` // S − W
	Reg     []float64 `json:"reg"`   // W − S̃
	L1      []float64 `json:"marginal_l1"`
}

var ratesOf = lab.Experiment[RatesParams, RatesOut]{
	Name: "analytic/rates", Version: 1,
	Run: func(ctx context.Context, c *lab.Cell, p RatesParams) (RatesOut, error) {
		rng := c.Rand(fmt.Sprintf("problem %d", p.Draw))
		n, m := p.N, p.N+1
		x, y := mat.NewDense(n, 2, nil), mat.NewDense(m, 2, nil)
		for _, d := range []*mat.Dense{x, y} {
			d.Apply(func(_, _ int, _ float64) float64 { return rng.Float64() }, d)
		}
		prob := ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean), A: weights(rng, n), B: weights(rng, m)}
		cost := ot.Cost(prob.Geometry)
		w := lab.Must(exact.Simplex{}.Solve(ctx, ot.Problem{Geometry: ot.Dense(cost), A: prob.A, B: prob.B}))
		out := RatesOut{W: w.Value, Arcs: len(w.Arcs), Proof: w.Certificate.Bound()}
		for _, a := range w.Arcs {
			out.Entropy += a.Mass * (1 - math.Log(a.Mass))
		}
		reduced := reducedCosts(cost, w)
		out.Gap = math.Inf(1)
		for _, r := range reduced.RawMatrix().Data {
			if r > 0 {
				out.Gap = min(out.Gap, r)
			}
		}
		for k, s := range p.Scaled {
			lambda := s / out.Gap
			plan := lab.Must(ot.Newton{Eps: 1 / lambda, Tol: 1e-14}.Solve(ctx, prob))
			out.Lambda = append(out.Lambda, lambda)
			out.Sharp = append(out.Sharp, dot(plan.Matrix(), reduced))
			out.Reg = append(out.Reg, w.Value-plan.Value().RegEntropyMinus1)
			out.L1 = append(out.L1, plan.MarginalL1)
			c.Progress(k+1, len(p.Scaled))
		}
		return out, nil
	},
}

// reducedCosts are c_ij − f_i − g_j, exactly 0 on the arcs of the optimal plan. The sharp loss of any plan with the
// right marginals exceeds W by <T, reduced>, a sum of positive terms, so that it is known to full precision however
// small it is.
func reducedCosts(cost *mat.Dense, w *exact.Plan) *mat.Dense {
	r := mat.DenseCopyOf(cost)
	r.Apply(func(i, j int, v float64) float64 { return max(0, v-w.F[i]-w.G[j]) }, r)
	for _, a := range w.Arcs {
		r.Set(a.I, a.J, 0)
	}
	return r
}

func ratesGrid(set lab.Setting) []RatesParams {
	p := set.Preset
	scaled := kit.Decades(lab.Pick(p, 12, 29, 43, 43), -2, 2)
	draws := kit.Count(lab.Pick(p, 3, 12, 40, 40))
	return lab.Grid(RatesParams{N: lab.Pick(p, 5, 8, 8, 12), Scaled: scaled},
		lab.Vary(func(p *RatesParams, d int) { p.Draw = d }, draws...))
}

// slowLosses is the null of a sharp loss that falls like 1/λ, a regularised one with twice its
// constant, and an uncertified distance.
var slowLosses = kit.Null("losses that fall like 1/λ", ratesOf, func(_ RatesParams, v *RatesOut) {
	v.Proof, v.Sharp, v.Reg = 1e-3*v.W, nil, nil
	for _, lambda := range v.Lambda {
		v.Sharp, v.Reg = append(v.Sharp, 1/lambda), append(v.Reg, 2*v.Entropy/lambda)
	}
})

// exchangedLosses is the null in which the regularised loss is taken for the sharp one.
var exchangedLosses = kit.Null("the two losses exchanged", ratesOf, func(_ RatesParams, v *RatesOut) {
	sharp, reg := v.Sharp, v.Reg
	v.Sharp, v.Reg = nil, nil
	for k := range sharp {
		v.Sharp, v.Reg = append(v.Sharp, -reg[k]), append(v.Reg, -sharp[k])
	}
})

func drawProposition1(v lab.View[RatesParams, RatesOut]) (lab.Exhibit, error) {
	cells := v.Cells
	first := cells[0]
	sharp := bandOver(cells, func(v RatesOut, k int) float64 { return v.Sharp[k] / v.W })
	sharp.Name, sharp.Series = "sharp, S_{sharp} − W", 0
	reg := bandOver(cells, func(v RatesOut, k int) float64 { return v.Reg[k] / v.W })
	reg.Name, reg.Series = "regularised, W − S_{reg}", 1
	law := bandOver(cells, func(v RatesOut, k int) float64 { return v.Entropy / v.Lambda[k] / v.W })
	law.Name, law.Series, law.Lo, law.Hi, law.Color = "h(P*)/λ", 2, nil, nil, style.DarkGrey
	size := style.Plot{
		X:     style.Axis{Label: "λδ", Log: true},
		Y:     style.Axis{Label: "relative distance to W", Log: true, Min: 1e-16, Max: 1e3},
		Items: []plot.Plotter{sharp, reg, law},
	}
	decay := style.Plot{
		X: style.Axis{Label: "λδ"},
		Y: style.Axis{Label: "S_{sharp} − W, relative to λδ = 10", Log: true, Min: 1e-34, Max: 1e4},
	}
	for i, c := range cells {
		l := style.Line{Color: style.Fade(style.Series(0).Color, 0.5), Solid: true, Width: 0.8}
		if i == 0 {
			l.Name = "each problem"
		}
		at10 := interpolate(first.Params.Scaled, c.Value.Sharp, 10)
		l.X, l.Y = first.Params.Scaled, kit.Each(c.Value.Sharp, func(v float64) float64 { return v / at10 })
		decay.Items = append(decay.Items, l)
	}
	rate := kit.Line(style.Line{Name: "exp(−λδ)", Series: 1, Width: 1.6}, first.Params.Scaled,
		func(s float64) (x, y float64) { return s, math.Exp(10 - s) })
	decay.Items = append(decay.Items, rate)
	decay.X.Max = 80
	panels := style.Panels{Items: []style.Drawer{size, decay}, Letters: true}
	n := first.Params.N
	return lab.Exhibit{
		Pictures: kit.Wide(panels, v.Badge(fmt.Sprintf("%d × %d atoms", n, n+1)),
			fmt.Sprintf(
				"%d random problems of %d × %d points of the unit square, λ in units of 1/δ. (a) Median and range "+
					"over the problems. (b) The sharp loss alone, on a linear axis of λ.", len(cells), n, n+1)),
		Tables: []lab.Table{ratesTable(cells)},
		Notes: []string{
			"δ is the smallest reduced cost c − f − g of an arc that the exact plan does not use, from the network " +
				"simplex' potentials, which are unique here. Entropic potentials converge to them, so T outside of " +
				"the exact plan's support, and with it S − W = ⟨T, c − f − g⟩, falls like exp(−λδ). That sum has no " +
				"negative term, which is why it can be followed far below 1e-16.",
			exponentNote(cells),
		},
	}, nil
}

// bandOver is the median and range over problems of a value at each λ.
func bandOver(cells []ratesCell, of func(RatesOut, int) float64) style.Line {
	l := style.Line{X: cells[0].Params.Scaled}
	for k := range l.X {
		lo, mid, hi := spread(
			kit.Each(cells, func(c ratesCell) float64 { return of(c.Value, k) }))
		l.Y, l.Lo, l.Hi = append(l.Y, mid), append(l.Lo, lo), append(l.Hi, hi)
	}
	return l
}

// interpolate is y at x, on a straight line in (x, log y).
func interpolate(xs, ys []float64, x float64) float64 {
	var line interp.PiecewiseLinear
	if err := line.Fit(xs, kit.Each(ys, math.Log)); err != nil { // xs is a grid that increases
		panic(err)
	}
	return math.Exp(line.Predict(x))
}

// exponentNote describes what the proposition's e^{−λ} would need.
func exponentNote(cells []ratesCell) string {
	small := 0
	for _, c := range cells {
		if c.Value.Gap < 1 {
			small++
		}
	}
	return fmt.Sprintf(
		"Proposition 1 states |S − W| ≤ C₁ e^{−λ}. Here %d of %d problems have δ < 1, and for these no constant C₁ "+
			"makes that true for every λ: the statement needs costs in units in which δ ≥ 1.", small, len(cells))
}

func ratesTable(cells []ratesCell) lab.Table {
	return kit.Table("problems",
		"Each problem: exact distance and the bound that its certificate proves, the smallest reduced cost δ, the "+
			"rate that S − W is measured to fall at, and the constant of 1/λ, measured and h(P*).",
		"problem | W | certified to | arcs | δ | measured rate / δ | λ(W − S̃) | h(P*)",
		kit.Each(cells, func(c ratesCell) []string {
			v := c.Value
			last := len(v.Reg) - 1
			return kit.Row("%v | %.6f | %.0e | %v | %.2e | %.4f | %.6f | %.6f", c.Params.Draw, v.W, v.Proof, v.Arcs,
				v.Gap, rateOf(c), v.Lambda[last]*v.Reg[last], v.Entropy)
		})...)
}

// rateOf is the rate at which S − W falls where λδ is above 40, in units of δ.
func rateOf(c ratesCell) float64 {
	var x, y []float64
	for k, s := range c.Params.Scaled {
		if s >= 40 {
			x, y = append(x, s), append(y, math.Log(c.Value.Sharp[k]))
		}
	}
	return -slope(x, y)
}

func claimProposition1(v lab.View[RatesParams, RatesOut]) ([]lab.Claim, error) {
	cells := v.Cells
	var rates []float64
	none := math.Inf(-1)
	constant, negative, proof := none, none, none
	for _, c := range cells {
		v := c.Value
		last := len(v.Reg) - 1
		rates = append(rates, math.Abs(rateOf(c)-1))
		constant = max(constant, math.Abs(v.Lambda[last]*v.Reg[last]/v.Entropy-1))
		proof = max(proof, v.Proof/v.W)
		for k := range v.Sharp {
			negative = max(negative, -v.Sharp[k], -v.Reg[k]) // h(T) ≥ 0 on plans, so S̃ ≤ S̃(P*) ≤ W
		}
	}
	_, rate, worst := spread(rates)
	return []lab.Claim{
		kit.Law(kit.AtMost("exact distances, the largest proved relative error", "duality", proof, 1e-13,
			"rounding of potentials", slowLosses)),
		kit.Law(kit.AtMost("S − W and W − S̃, the most negative", "S̃ ≤ W ≤ S", negative, 0,
			"a law; the values are far above rounding", exchangedLosses)),
		kit.AtMost("rate of the sharp loss over δ, the median distance from 1",
			"Proposition 1, with its exponent made precise", rate, 0.01,
			"measured on λδ from 40 to 100, where a second reduced cost of 1.2 δ has died out to e^{−8}",
			slowLosses),
		kit.AtMost("rate of the sharp loss over δ, the largest distance from 1", "as above", worst, 0.2,
			"a second reduced cost that is closer to δ still mixes in", slowLosses),
		kit.AtMost("λ(W − S̃) over h(P*), the largest distance from 1 at λδ = 100",
			"Proposition 1, regularised loss", constant, 1e-6, "what is left is exponentially small, and rounding "+
				"of W times λ", slowLosses),
	}, nil
}

// ratesCell is a finished cell.
type ratesCell = lab.Result[RatesParams, RatesOut]
