package scones

import (
	"context"
	"fmt"
	"math"

	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/score/scones"

	"gonum.org/v1/gonum/mat"
)

// LogConcave is Lemma B.4: the Sinkhorn factor is log-concave in y.
func LogConcave() lab.Study[ConcaveParams, ConcaveOut] {
	return lab.Study[ConcaveParams, ConcaveOut]{
		Name:  "scones/logconcave",
		Title: "Lemma B.4: the Sinkhorn factor is log-concave",
		Shows: "The larger eigenvalue of λ∇² log h(y), h the factor exp(V(x,y)/λ) of the plan from a Gaussian to " +
			"the Swiss roll, over the plane: never positive, and equal to that of −(4/λ) Cov(X|y), which is what " +
			"the proof says. Where it is near zero the factor is flat in some direction and does not help a sampler " +
			"that must cross between the turns; the smaller λ is, the more so.",
		Sizes: kit.Sizes("%v atoms, %[2]v × %[2]v points, λ = %[3]v", kit.Per{100, 1000, 1500, 1500},
			kit.Per{15, 60, 120, 120}, kit.Per{2, "0.5, 2 and 8", "0.5, 2 and 8", "0.5, 2 and 8"}),
		Seconds:    kit.ByPreset(.1, 4, 20, 20),
		Experiment: concaveOf,
		Grid:       concaveGrid,
		Draw:       drawConcave,
		Claims:     claimConcave,
	}
}

// ConcaveParams are a plan and the points where its factor is looked at.
type ConcaveParams struct {
	Atoms  int     `json:"atoms" min:"1" doc:"points of each side of the plan"`
	Grid   int     `json:"grid" min:"1" doc:"points of an edge of the square that is looked at"`
	Lambda float64 `json:"lambda" min:">0" doc:"λ"`
}

// ConcaveOut is over the points of the grid. Artifact: largest.npy, the larger eigenvalue, first row lowest.
type ConcaveOut struct {
	Largest float64 `json:"largest"` // of λ∇² log h, by differences of gradients
	Off     float64 `json:"off"`     // of the same from −(4/λ) Cov(X|y), relative to 1 + its size
}

var concaveOf = lab.Experiment[ConcaveParams, ConcaveOut]{Name: "scones/logconcave", Version: 1, Run: runConcave}

func concaveGrid(set lab.Setting) []ConcaveParams {
	p := set.Preset
	base := ConcaveParams{Atoms: lab.Pick(p, 100, 1000, 1500, 1500), Grid: lab.Pick(p, 15, 60, 120, 120)}
	return lab.Grid(base, lab.Vary(func(p *ConcaveParams, v float64) { p.Lambda = v },
		kit.Smoke(p, []float64{2}, []float64{.5, 2, 8})...))
}

// turnConcave turns the sign of V. Both eigenvalues change theirs, so that the larger is at least
// what the larger was below zero, and is compared with its negative.
func turnConcave(cells []lab.Result[ConcaveParams, ConcaveOut]) {
	for i := range cells {
		most := -mat.Min(kit.Matrix(cells[i].Open, "largest.npy")) // of the larger eigenvalue below zero
		cells[i].Value = ConcaveOut{Largest: most, Off: 2 * most / (1 + most)}
	}
}

// half is how far the picture reaches.
const half = 15.

func runConcave(ctx context.Context, c *lab.Cell, p ConcaveParams) (out ConcaveOut, err error) {
	w := newSwiss(ctx, c, RollParams{Atoms: p.Atoms, Lambda: p.Lambda, Sources: 1})
	at := mat.NewDense(p.Grid*p.Grid, 2, nil)
	for i := range p.Grid {
		for j := range p.Grid {
			at.SetRow(i*p.Grid+j, []float64{half * (2*(float64(j)+.5)/float64(p.Grid) - 1),
				half * (2*(float64(i)+.5)/float64(p.Grid) - 1)})
		}
	}
	xx, xy, yy := hessian(w.psi, at)
	weights := w.psi.Conditional(at)
	field := mat.NewDense(p.Grid, p.Grid, nil)
	out.Largest = math.Inf(-1)
	for k := range xx {
		v := largest(xx[k], xy[k], yy[k])
		field.Set(k/p.Grid, k%p.Grid, v)
		out.Largest = max(out.Largest, v)
		sxx, sxy, syy := covariance2(w.x, weights.RawRowView(k))
		want := largest(-4/p.Lambda*sxx, -4/p.Lambda*sxy, -4/p.Lambda*syy)
		out.Off = max(out.Off, math.Abs(v-want)/(1+math.Abs(want)))
	}
	return out, kit.Write(c, "largest.npy", field)
}

// hessian returns the second derivatives of λ log h(y) = ψ(y) − |x−y|², by central differences of the gradient.
func hessian(psi *scones.Discrete, at *mat.Dense) (xx, xy, yy []float64) {
	const h = 1e-4
	n, _ := at.Dims()
	gradient := func(dx, dy float64) *mat.Dense {
		y, g := mat.DenseCopyOf(at), mat.NewDense(n, 2, nil)
		for i := range n {
			y.Set(i, 0, y.At(i, 0)+dx)
			y.Set(i, 1, y.At(i, 1)+dy)
		}
		lab.Check(psi.Eval(nil, g, y))
		return g
	}
	right, left, up, down := gradient(h, 0), gradient(-h, 0), gradient(0, h), gradient(0, -h)
	for i := range n {
		xx = append(xx, (right.At(i, 0)-left.At(i, 0))/(2*h)-2)
		yy = append(yy, (up.At(i, 1)-down.At(i, 1))/(2*h)-2)
		xy = append(xy, (right.At(i, 1)-left.At(i, 1))/(2*h))
	}
	return xx, xy, yy
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

func drawConcave(v lab.View[ConcaveParams, ConcaveOut]) (lab.Exhibit, error) {
	scale := style.Scale{Lo: -1, Hi: 0}
	panels := style.Panels{ShareY: true, Bar: &style.ColorBar{Scale: scale, Label: "larger eigenvalue of λ∇² log h"}}
	for _, c := range v.Cells {
		m := kit.Matrix(c.Open, "largest.npy")
		heat := style.Heat{M: m, X0: -half, X1: half, Y0: -half, Y1: half, Scale: scale}
		panels.Items = append(panels.Items, style.Plot{
			Title:  fmt.Sprintf("λ = %g, largest %.0e", c.Params.Lambda, c.Value.Largest),
			X:      style.Axis{Label: "y_{1}", Min: -half, Max: half},
			Y:      style.Axis{Label: "y_{2}", Min: -half, Max: half},
			Square: true,
			NoGrid: true,
			Aspect: 1,
			Items:  []plotter{heat},
		})
	}
	first := v.Cells[0].Params
	return lab.Exhibit{Pictures: kit.Wide(panels, v.Badge(fmt.Sprintf("%d atoms", first.Atoms)),
		"Curvature of the factor exp(V(x,y)/λ) of the plan from N(0, I) to the Swiss roll, in its flattest "+
			"direction. It does not depend on x. −2 is the curvature that the cost alone has.")}, nil
}

func claimConcave(v lab.View[ConcaveParams, ConcaveOut]) (out []lab.Claim, err error) {
	null := kit.NullOf("the factor of −V", concaveOf, turnConcave)
	for _, c := range v.Cells {
		out = append(out,
			kit.AtMostWithin(fmt.Sprintf("largest curvature of the factor, λ = %g", c.Params.Lambda), "Lemma B.4",
				c.Value.Largest, 0, 1e-6, "differences of gradients of size 30 over 2e-4", null),
			kit.AtMostWithin(fmt.Sprintf("curvature against −(4/λ) Cov(X|y), λ = %g", c.Params.Lambda),
				"proof of Lemma B.4", c.Value.Off, 0, 1e-4,
				"the difference quotient's h²/6 times fourth derivatives, up to λ⁻³ times fourth powers of the "+
					"atoms' distances", null))
	}
	return append(out, kit.AtMost("largest curvature of the factor, at the λ where it is least",
		"proof of Lemma B.4: −(4/λ) Cov(X|y), which is nowhere 0",
		lab.Least(v.Cells, func(c lab.Result[ConcaveParams, ConcaveOut]) float64 { return c.Value.Largest }),
		-1e-5, "every y has several x there; ten times what differences of gradients may be wrong by",
		null)), nil
}
