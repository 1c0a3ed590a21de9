package analytic

import (
	"context"
	"fmt"
	"math"
	"slices"

	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/ot"

	"gonum.org/v1/gonum/mat"
)

// Backward is what the gradient of the sharp loss costs: analytic, implicit and unrolled.
func Backward() lab.Study[BackwardParams, BackwardOut] {
	return lab.Study[BackwardParams, BackwardOut]{
		Name:  "analytic/backward",
		Title: "Time and memory of the backward pass",
		Shows: "Unrolled differentiation costs more the more iterations are run, and is wrong unless they are " +
			"hundreds; the analytic gradient costs one linear system once the plan is known, however it was found, " +
			"and is right.",
		Sizes: kit.Sizes("n = %v with up to %v iterations; n up to %v", kit.Per{32, 128, 128, 512},
			kit.Per{100, 1000, 3000, 10000}, kit.Per{64, 256, 512, 2048}),
		Seconds:    kit.ByPreset(.8, 10, 30, 2000),
		Experiment: backwardOf,
		Grid:       backwardGrid,
		Draw:       drawBackward,
		Claims:     claimBackward,
	}
}

// BackwardParams is one run of all methods: over Iterations at N, and over Ns with Unroll iterations.
type BackwardParams struct {
	Ratio      float64 `json:"ratio" min:">0" doc:"ε over the mean cost"`
	N          int     `json:"n" min:"1" doc:"points of each side where the iterations vary"`
	Iterations []int   `json:"iterations" min:"1" doc:"iterations of the unrolled method"`
	Ns         []int   `json:"ns" min:"1" doc:"points of each side, for which Unroll iterations are unrolled"`
	Unroll     int     `json:"unroll" min:"1" doc:"iterations that are unrolled where the points vary"`
	Repeat     int     `json:"repeat" min:"1" doc:"measurements, of which the least counts"`
}

// BackwardOut holds the cost of every method on every problem.
type BackwardOut struct {
	Costs []BackwardCost `json:"costs"`
}

// BackwardCost is one method on one problem.
type BackwardCost struct {
	Over       string   `json:"over"` // "iterations" or "n"
	Method     string   `json:"method"`
	N          int      `json:"n"`
	Iterations int      `json:"iterations"` // unrolled
	Forward    float64  `json:"forward"`    // seconds to the plan; unrolled: 0, it is part of Cost
	Cost       Measured `json:"cost"`
	Tape       float64  `json:"tape"`  // bytes that automatic differentiation would hold, unrolled
	Error      float64  `json:"error"` // max |G − G*| / max |G*|
}

// Names of the methods, as on the picture.
const (
	byCholesky    = "Cholesky"
	byElimination = "elimination"
	byCG          = "conjugate gradients"
	byImplicit    = "implicit"
	byUnrolling   = "unrolled, log domain"
	byScaling     = "unrolled, kernel"
)

var backwardOf = lab.Experiment[BackwardParams, BackwardOut]{
	Name: "analytic/backward", Version: 2,
	Run: func(ctx context.Context, c *lab.Cell, p BackwardParams) (BackwardOut, error) {
		var out BackwardOut
		out.add(ctx, c, p, "iterations", p.N, p.Iterations)
		for k, n := range p.Ns {
			c.Progress(k+1, len(p.Ns)+1)
			out.add(ctx, c, p, "n", n, []int{p.Unroll})
		}
		return out, nil
	},
}

// add measures every method at the plan of one problem.
func (out *BackwardOut) add(ctx context.Context, c *lab.Cell, p BackwardParams, over string, n int, iterations []int) {
	prob := clouds(c.Rand("clouds"), n)
	cost := ot.Cost(prob.Geometry)
	eps := p.Ratio * meanCost(cost, prob.A, prob.B)
	var plan *ot.Plan
	forward := measure(p.Repeat, func() {
		plan = lab.Must(ot.LBFGS{Eps: eps, Tol: 1e-13, Control: ot.Control{Workers: 1}}.Solve(ctx, prob))
	})
	want := lab.Must(ot.Backward{Method: ot.Eliminate}.Gradient(ctx, plan, ot.Sharp)).Cost()
	note := func(of BackwardCost, gradient func() *mat.Dense) {
		var g *mat.Dense
		of.Over, of.N, of.Cost = over, n, measure(p.Repeat, func() { g = gradient() })
		of.Error = errorOf(g, want, want).Max
		out.Costs = append(out.Costs, of)
	}
	for _, m := range analyticMethods {
		note(BackwardCost{Method: m.name, Forward: forward.Seconds},
			func() *mat.Dense { return m.gradient(ctx, plan, cost) })
	}
	for _, k := range iterations {
		const halfSteps, bytes = 2, 8 // automatic differentiation would hold the n×n matrix of each
		note(BackwardCost{Method: byUnrolling, Iterations: k, Tape: float64(halfSteps * bytes * k * n * n)},
			func() *mat.Dense {
				return lab.Must(logUnrolled{Eps: eps, Iterations: k}.Eval(ctx, prob)).Cost
			})
		if !kernelUnderflows(prob, eps) {
			note(BackwardCost{Method: byScaling, Iterations: k},
				func() *mat.Dense { return unrolledScaling(cost, plan.A, plan.B, eps, k) })
		}
	}
}

// analyticMethod differentiates a plan that is known.
type analyticMethod struct {
	name     string
	series   int
	gradient func(context.Context, *ot.Plan, *mat.Dense) *mat.Dense
}

var analyticMethods = []analyticMethod{
	{byElimination, 0, gradientBy(ot.Eliminate)},
	{byCholesky, 1, gradientBy(ot.Cholesky)},
	{byCG, 3, gradientBy(ot.CG)},
	{byImplicit, 4, func(ctx context.Context, p *ot.Plan, cost *mat.Dense) *mat.Dense {
		v := lab.Must(ot.Backward{Method: ot.Cholesky}.VJP(ctx, p, cost))
		v.Cost.Add(v.Cost, p.Matrix())
		return v.Cost
	}},
}

func gradientBy(m ot.Method) func(context.Context, *ot.Plan, *mat.Dense) *mat.Dense {
	return func(ctx context.Context, p *ot.Plan, _ *mat.Dense) *mat.Dense {
		return lab.Must(ot.Backward{Method: m}.Gradient(ctx, p, ot.Sharp)).Cost()
	}
}

func backwardGrid(set lab.Setting) []BackwardParams {
	p := set.Preset
	iterations := []int{10, 30, 100, 300, 1000, 3000, 10000}
	ns := []int{16, 32, 64, 128, 256, 512, 1024, 2048}
	return []BackwardParams{{
		Ratio: 0.01, N: lab.Pick(p, 32, 128, 128, 512),
		Iterations: iterations[:lab.Pick(p, 3, 5, 6, 7)],
		Ns:         lab.Pick(p, ns[:3], ns[:5], ns[:6], ns[1:]),
		Unroll:     kit.Smoke(p, 30, 100), Repeat: lab.Pick(p, 3, 2, 2, 1),
	}}
}

// freeAndWrong is the null of gradients that are wrong, unrolled in the same time for any number of
// iterations and without a tape.
var freeAndWrong = kit.Null("wrong gradients that cost nothing", backwardOf, func(_ BackwardParams, v *BackwardOut) {
	for k := range v.Costs {
		c := &v.Costs[k]
		c.Error, c.Tape, c.Cost.Seconds = .1, 0, 1
	}
})

func drawBackward(v lab.View[BackwardParams, BackwardOut]) (lab.Exhibit, error) {
	cell := v.Cells[0]
	p, out := cell.Params, cell.Value
	panels := style.Panels{Columns: 2, Letters: true, Items: []style.Drawer{
		out.overIterations("time of loss and gradient", "s",
			func(c BackwardCost) float64 { return c.Forward + c.Cost.Seconds }),
		out.overIterations("relative error of the gradient", "", func(c BackwardCost) float64 { return c.Error }),
		out.overN("time of the backward pass", "s", func(c BackwardCost) float64 { return c.Cost.Seconds }),
		out.overN("memory of the backward pass", "bytes",
			func(c BackwardCost) float64 { return max(c.Tape, c.Cost.Bytes) }),
	}}
	return lab.Exhibit{
		Pictures: kit.Wide(panels, v.Badge(fmt.Sprintf("n ≤ %d", p.Ns[len(p.Ns)-1])),
			fmt.Sprintf(
				"Gradient of the sharp loss, ε = %g × mean cost. (a, b) n = %d: time of loss and gradient together, "+
					"and the gradient's error, over the iterations unrolled; the analytic ways solve by L-BFGS to "+
					"1e-13 and do not depend on them. (c, d) Over n: time and memory of the backward pass alone, "+
					"for the unrolled ones of %d iterations forward and back, which is too few for three digits. %s",
				p.Ratio,
				p.N, p.Unroll,
				onMachine(cell.Manifest, ""))),
		Tables: []lab.Table{backwardTable(out)},
		Notes: []string{
			"Unrolled, kernel, is the best that unrolling can do: products with exp(−c/ε) forward and back, vectors " +
				"kept instead of matrices; its points are missing where exp(−c/ε) underflows. Unrolled, log domain, " +
				"is the reference of package ot, plain Go and some times slower a pass than the solvers; its memory " +
				"is the tape, the n×n matrix of every half-step, which automatic differentiation would hold. Other " +
				"memory is what a call allocates.",
			"Implicit is the vector–Jacobian product of the plan at the cost, by the same Cholesky factor. Errors " +
				"are against elimination, whose own are in analytic/gradient-error.",
		},
	}, nil
}

// unrolledMethods are drawn over their iterations.
var unrolledMethods = []analyticMethod{{name: byUnrolling, series: 2}, {name: byScaling, series: 5}}

// overIterations draws the unrolled methods over their iterations, and the others as levels.
func (out BackwardOut) overIterations(label, unit string, of func(BackwardCost) float64) style.Plot {
	p := style.Plot{X: style.Axis{Label: "iterations unrolled", Log: true},
		Y: style.Axis{Label: label, Unit: unit, Log: true}}
	var reach []float64
	for _, m := range unrolledMethods {
		l := out.line(m, "iterations", func(c BackwardCost) float64 { return float64(c.Iterations) }, of)
		reach = append(reach, l.X...)
		p.Items = append(p.Items, l)
	}
	for _, m := range analyticMethods {
		for _, v := range out.line(m, "iterations", func(BackwardCost) float64 { return 0 }, of).Y {
			p.Items = append(p.Items, style.Line{
				Name:   m.name,
				Series: m.series,
				X:      []float64{slices.Min(reach), slices.Max(reach)},
				Y:      []float64{v, v},
			})
		}
	}
	return p
}

// overN draws every method over n.
func (out BackwardOut) overN(label, unit string, of func(BackwardCost) float64) style.Plot {
	p := style.Plot{X: style.Axis{Label: "n", Log: true}, Y: style.Axis{Label: label, Unit: unit, Log: true}}
	for _, m := range slices.Concat(unrolledMethods, analyticMethods) {
		p.Items = append(p.Items, out.line(m, "n", func(c BackwardCost) float64 { return float64(c.N) }, of))
	}
	return p
}

func (out BackwardOut) line(m analyticMethod, over string, x, y func(BackwardCost) float64) style.Line {
	l := style.Line{Name: m.name, Series: m.series, Marks: true}
	for _, c := range out.Costs {
		if c.Over == over && c.Method == m.name {
			l.X, l.Y = append(l.X, x(c)), append(l.Y, y(c))
		}
	}
	return l
}

func backwardTable(out BackwardOut) lab.Table {
	return kit.Table("costs",
		"Each method: seconds forward and back, MB allocated or taped, and the relative error of the gradient.",
		"n | method | iterations | forward | backward | MB | error",
		kit.Each(out.Costs, func(c BackwardCost) []string {
			k, fwd := "–", fmt.Sprintf("%.2e", c.Forward)
			if c.Iterations > 0 {
				k, fwd = fmt.Sprint(c.Iterations), "in both"
			}
			return kit.Row("%v | %s | %s | %s | %.2e | %.3g | %.1e", c.N, c.Method, k, fwd, c.Cost.Seconds,
				max(c.Tape, c.Cost.Bytes)/1e6, c.Error)
		})...)
}

func claimBackward(v lab.View[BackwardParams, BackwardOut]) ([]lab.Claim, error) {
	cell := v.Cells[0]
	agree, memory, unrolled := math.Inf(-1), math.Inf(1), math.NaN()
	tape := map[int]float64{}
	var x, y []float64
	for _, c := range cell.Value.Costs {
		if c.Iterations == 0 {
			agree = max(agree, c.Error)
			continue
		}
		if c.Method != byUnrolling {
			continue
		}
		if c.Over == "n" {
			tape[c.N] = c.Tape
		} else {
			x, y = append(x, math.Log(float64(c.Iterations))), append(y, math.Log(c.Cost.Seconds))
			unrolled = c.Error // of the most iterations at last
		}
	}
	for _, c := range cell.Value.Costs {
		if c.Over == "n" && c.Method == byCholesky && c.N >= 64 {
			memory = min(memory, tape[c.N]/c.Cost.Bytes)
		}
	}
	tooShort := kit.Smoke(v.Preset, "times of milliseconds, and few iterations", "")
	return []lab.Claim{
		kit.AtMostUnless(tooShort, "difference between the gradient unrolled over the most iterations, in the log "+
			"domain, and the analytic one", "one gradient", unrolled, 1e-3,
			"a thousand iterations give six digits here", freeAndWrong),
		kit.AtMost("largest difference between the analytic and implicit methods", "one gradient",
			agree, 1e-9, "conjugate gradients stop at a residual of 1e-13, times the condition of D",
			freeAndWrong),
		kit.AtLeastUnless(tooShort, "growth of the unrolled time over iterations, log–log",
			"“costly when the number of iterations [is] large”: introduction", slope(x, y), .5,
			"1 but for set-up; half of it holds on a busy machine", freeAndWrong),
		kit.AtLeast("memory of the tape over that of the Cholesky way, the least over n ≥ 64",
			"2 n² an iteration against a few n²", memory, float64(cell.Params.Unroll)/10,
			"some ten n×n matrices at most; other cells in the same process can only add to what is Measured",
			freeAndWrong),
	}, nil
}
