package scones

import (
	"context"
	"fmt"
	"math"

	"coupling/data/synth"
	"coupling/figures/artifact"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/ot"
	"coupling/score/scones"

	"gonum.org/v1/gonum/mat"
)

// LogConcave is Lemma B.4: the Sinkhorn factor is log-concave in y.
func LogConcave() lab.Figure {
	return lab.Figure{
		Name:  "scones/logconcave",
		Title: "Lemma B.4: the Sinkhorn factor is log-concave",
		Shows: "The larger eigenvalue of λ∇² log h(y), h the factor exp(V(x,y)/λ) of the plan from a Gaussian to the Swiss roll, over the plane: never " +
			"positive, and equal to that of −(4/λ) Cov(X|y), which is what the proof says. Where it is near zero the factor is flat in some direction " +
			"and does not help a sampler that must cross between the turns; the smaller λ is, the more so.",
		Sizes: map[lab.Preset]string{
			lab.Smoke: "100 atoms, 15 × 15 points, λ = 2",
			lab.Quick: "1000 atoms, 60 × 60 points, λ = 0.5, 2 and 8",
			lab.Paper: "1500 atoms, 120 × 120 points, λ = 0.5, 2 and 8",
		},
		Decoders: []lab.Decoder{concaveOf.Decoder()},
		Jobs: func(set lab.Setting) ([]lab.Job, error) {
			return concaveOf.Jobs(set.Seed, concaveGrid(set.Preset)...), nil
		},
		Draw:   drawConcave,
		Claims: claimConcave,
	}
}

type concaveParams struct {
	Atoms  int     `json:"atoms"`
	Grid   int     `json:"grid"`
	Lambda float64 `json:"lambda"`
}

// concaveOut is over the points of the grid. Artifact: largest.npy, the larger eigenvalue, first row lowest.
type concaveOut struct {
	Largest float64 `json:"largest"` // of λ∇² log h, by differences of gradients
	Off     float64 `json:"off"`     // of the same from −(4/λ) Cov(X|y), relative to 1 + its size
}

var concaveOf = lab.Experiment[concaveParams, concaveOut]{Name: "scones/logconcave", Version: 1, Run: runConcave}

func concaveGrid(p lab.Preset) []concaveParams {
	base := concaveParams{Atoms: pick(p, 100, 1000, 1500), Grid: pick(p, 15, 60, 120)}
	return lab.Grid(base, lab.Vary(func(p *concaveParams, v float64) { p.Lambda = v }, pick(p, []float64{2}, []float64{.5, 2, 8}, []float64{.5, 2, 8})...))
}

// half is how far the picture reaches.
const half = 15.

func runConcave(ctx context.Context, c *lab.Cell, p concaveParams) (out concaveOut, err error) {
	rng := c.Rand("atoms")
	x, err := synth.Normal(rng, p.Atoms, 2)
	if err != nil {
		return out, err
	}
	y, err := synth.SwissRoll(rng, p.Atoms, rollNoise)
	if err != nil {
		return out, err
	}
	plan, err := ot.LBFGS{Eps: p.Lambda, Tol: 1e-8}.Solve(ctx, ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)})
	if err != nil {
		return out, err
	}
	_, psi, err := scones.FromPlan(plan, x, y, false)
	if err != nil {
		return out, err
	}
	at := mat.NewDense(p.Grid*p.Grid, 2, nil)
	for i := range p.Grid {
		for j := range p.Grid {
			at.SetRow(i*p.Grid+j, []float64{half * (2*(float64(j)+.5)/float64(p.Grid) - 1), half * (2*(float64(i)+.5)/float64(p.Grid) - 1)})
		}
	}
	xx, xy, yy, err := hessian(psi, at)
	if err != nil {
		return out, err
	}
	weights := psi.Conditional(at)
	field := mat.NewDense(p.Grid, p.Grid, nil)
	out.Largest = math.Inf(-1)
	for k := range xx {
		v := largest(xx[k], xy[k], yy[k])
		field.Set(k/p.Grid, k%p.Grid, v)
		out.Largest = max(out.Largest, v)
		sxx, sxy, syy := covariance2(x, weights.RawRowView(k))
		want := largest(-4/p.Lambda*sxx, -4/p.Lambda*sxy, -4/p.Lambda*syy)
		out.Off = max(out.Off, math.Abs(v-want)/(1+math.Abs(want)))
	}
	return out, artifact.Write(c, "largest.npy", field)
}

// hessian returns the second derivatives of λ log h(y) = ψ(y) − |x−y|², by central differences of the gradient.
func hessian(psi *scones.Discrete, at *mat.Dense) (xx, xy, yy []float64, err error) {
	const h = 1e-4
	n, _ := at.Dims()
	gradient := func(dx, dy float64) *mat.Dense {
		y, g := mat.DenseCopyOf(at), mat.NewDense(n, 2, nil)
		for i := range n {
			y.Set(i, 0, y.At(i, 0)+dx)
			y.Set(i, 1, y.At(i, 1)+dy)
		}
		if err == nil {
			err = psi.Eval(nil, g, y)
		}
		return g
	}
	right, left, up, down := gradient(h, 0), gradient(-h, 0), gradient(0, h), gradient(0, -h)
	for i := range n {
		xx = append(xx, (right.At(i, 0)-left.At(i, 0))/(2*h)-2)
		yy = append(yy, (up.At(i, 1)-down.At(i, 1))/(2*h)-2)
		xy = append(xy, (right.At(i, 1)-left.At(i, 1))/(2*h))
	}
	return xx, xy, yy, err
}

// largest is the larger eigenvalue of a symmetric 2×2 matrix.
func largest(xx, xy, yy float64) float64 {
	return (xx+yy)/2 + math.Hypot((xx-yy)/2, xy)
}

// covariance2 is the covariance of weighted points of the plane.
func covariance2(x *mat.Dense, w []float64) (xx, xy, yy float64) {
	var mx, my float64
	for i, v := range w {
		mx += v * x.At(i, 0)
		my += v * x.At(i, 1)
	}
	for i, v := range w {
		a, b := x.At(i, 0)-mx, x.At(i, 1)-my
		xx, xy, yy = xx+v*a*a, xy+v*a*b, yy+v*b*b
	}
	return xx, xy, yy
}

func drawConcave(s *lab.Store, set lab.Setting) (lab.Exhibit, error) {
	cells, err := lab.RecallAll(s, concaveOf, set.Seed, concaveGrid(set.Preset))
	if err != nil {
		return lab.Exhibit{}, err
	}
	scale := style.Scale{Lo: -1, Hi: 0}
	panels := style.Panels{ShareY: true, Bar: &style.ColorBar{Scale: scale, Label: "larger eigenvalue of λ∇² log h"}}
	for _, c := range cells {
		m, err := artifact.Read(c.Open, "largest.npy")
		if err != nil {
			return lab.Exhibit{}, err
		}
		heat := style.Heat{M: m, X0: -half, X1: half, Y0: -half, Y1: half, Scale: scale}
		panels.Items = append(panels.Items, style.Plot{Title: fmt.Sprintf("λ = %g, largest %.0e", c.Params.Lambda, c.Value.Largest),
			X: style.Axis{Min: -half, Max: half}, Y: style.Axis{Min: -half, Max: half}, Square: true, NoGrid: true, Aspect: 1, Items: []plotter{heat}})
	}
	first := cells[0].Params
	return lab.Exhibit{Pictures: []lab.Picture{{
		Caption: "Curvature of the factor exp(V(x,y)/λ) of the plan from N(0, I) to the Swiss roll, in its flattest direction. It does not depend on x. −2 is the curvature that the cost alone has.",
		Drawing: style.Figure{Body: panels, Width: style.TwoColumns, Badge: badge(set, fmt.Sprintf("%d atoms", first.Atoms))},
	}}}, nil
}

func claimConcave(s *lab.Store, set lab.Setting) (out []lab.Claim, err error) {
	cells, err := lab.RecallAll(s, concaveOf, set.Seed, concaveGrid(set.Preset))
	if err != nil {
		return nil, err
	}
	for _, c := range cells {
		out = append(out,
			lab.Claim{What: fmt.Sprintf("largest curvature of the factor, λ = %g", c.Params.Lambda), Source: "Lemma B.4", Got: c.Value.Largest, Relation: lab.AtMost, AbsTol: 1e-6, Why: "differences of gradients of size 30 over 2e-4"},
			lab.Claim{What: fmt.Sprintf("curvature against −(4/λ) Cov(X|y), λ = %g", c.Params.Lambda), Source: "proof of Lemma B.4", Got: c.Value.Off, Relation: lab.AtMost, AbsTol: 1e-4, Why: "the difference quotient's h²/6 times fourth derivatives, up to λ⁻³ times fourth powers of the atoms' distances"})
	}
	return out, nil
}
