package analytic

import (
	"context"
	"fmt"
	"math"

	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/ot"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
)

// Precision is how far each solver's plan is from the right one, over ε, after a fixed number of iterations.
func Precision() lab.Study[PrecisionParams, PrecisionOut] {
	return lab.Study[PrecisionParams, PrecisionOut]{
		Name:  "analytic/precision",
		Title: "Loss of precision of Sinkhorn's algorithm",
		Shows: "An exponential density against a mixture of two normals. As ε falls, kernel scaling underflows, " +
			"first in float32 and then in float64, and its plan is wrong or not a number; log-domain Sinkhorn stays " +
			"finite but has not converged after as many iterations; L-BFGS on the semi-dual is right throughout.",
		Sizes: kit.Sizes("%v × %v atoms, %v values of ε, %v iterations", kit.Per{60, 200, 200, 1000},
			kit.Per{50, 160, 160, 800}, kit.Per{5, 13, 13, 17}, kit.Per{1000, 1000, 1000, 2000}),
		Seconds:    kit.ByPreset(.5, 1.5, 1.5, 100),
		Experiment: precisionOf,
		Grid:       precisionGrid,
		Draw:       drawPrecision,
		Claims:     claimPrecision,
	}
}

// PrecisionParams is one ε, as a fraction of the mean cost.
type PrecisionParams struct {
	N          int     `json:"n" min:"1" doc:"sources"`
	M          int     `json:"m" min:"1" doc:"targets"`
	Ratio      float64 `json:"ratio" min:">0" doc:"ε over the mean cost"`
	Iterations int     `json:"iterations" min:"1" doc:"iterations of each solver"`
	Plans      bool    `json:"plans,omitzero" doc:"keep the plans as artifacts NAME.npy"`
}

// PrecisionOut holds one error for each solver of solvers. The reference is a plan by Newton's method.
type PrecisionOut struct {
	Eps    float64                `json:"eps"`
	Solver map[string]SolverError `json:"solver"`
	// Reference is the marginal error of the reference plan, which bounds the error of each of its entries.
	Reference float64 `json:"reference"`
}

// SolverError is what a solver's plan is worth; NaN where it is not a number.
type SolverError struct {
	Plan       float64 `json:"plan"`     // Σ|T − T*|, between 0 and 2 for plans
	Sharp      float64 `json:"sharp"`    // |<T,c> − <T*,c>| / <T*,c>
	MarginalL1 float64 `json:"marginal"` // of T as it is
	Fall       float64 `json:"fall"`     // the largest step back of the barycentric projection, in atoms
	Iterations int     `json:"iterations"`
	Status     string  `json:"status"`
}

var precisionOf = lab.Experiment[PrecisionParams, PrecisionOut]{
	Name: "analytic/precision", Version: 3,
	Run: func(ctx context.Context, c *lab.Cell, p PrecisionParams) (PrecisionOut, error) {
		prob := exponential(p.N, p.M)
		cost := ot.Cost(prob.Geometry)
		eps := p.Ratio * meanCost(cost, prob.A, prob.B)
		best := lab.Must(ot.Newton{Eps: eps, Tol: 1e-13}.Solve(ctx, prob))
		want := best.Matrix()
		out := PrecisionOut{Eps: eps, Solver: map[string]SolverError{}, Reference: marginalL1(want, best.A, best.B)}
		plans := map[string]*mat.Dense{"reference": want}
		for _, s := range precisionSolvers {
			t, e := s.run(ctx, prob, cost, eps, p.Iterations)
			e.compare(t, want, cost, best.A, best.B)
			out.Solver[s.key], plans[s.key] = e, t
		}
		if p.Plans {
			for name, t := range plans {
				lab.Check(kit.Write(c, name+".npy", t))
			}
		}
		return out, nil
	},
}

// compare fills in the errors of t.
func (e *SolverError) compare(t, want, cost *mat.Dense, a, b []float64) {
	e.Plan = floats.Distance(t.RawMatrix().Data, want.RawMatrix().Data, 1)
	right := dot(want, cost)
	e.Sharp = math.Abs(dot(t, cost)-right) / right
	e.MarginalL1, e.Fall = marginalL1(t, a, b), stepBack(t)
}

// stepBack is the largest step back of where sources go on average: on the line the optimal plan is
// monotone, and it never falls.
func stepBack(t *mat.Dense) (fall float64) {
	before := math.Inf(-1)
	n, m := t.Dims()
	for i := range n {
		var mass, sum float64
		for j := range m {
			mass += t.At(i, j)
			sum += t.At(i, j) * float64(j)
		}
		fall = max(fall, before-sum/mass)
		before = sum / mass
	}
	return fall
}

// wrongPlans is the null of solvers that put half of the mass in the wrong place, beside an unsolved reference.
var wrongPlans = lab.Null{Name: "wrong plans", Spoil: []lab.Spoiler{spoilSolvers(SolverError{
	Plan:       1,
	Sharp:      1,
	MarginalL1: 1,
	Fall:       10,
}, 1e-3)}}

// rightPlans is the null of solvers that are all right.
var rightPlans = lab.Null{Name: "right plans by every solver",
	Spoil: []lab.Spoiler{spoilSolvers(SolverError{Plan: 1e-13}, 1e-14)}}

func spoilSolvers(e SolverError, reference float64) lab.Spoiler {
	return kit.Spoil(precisionOf, func(_ PrecisionParams, v *PrecisionOut) {
		v.Reference, v.Solver = reference, map[string]SolverError{}
		for _, s := range precisionSolvers {
			v.Solver[s.key] = e
		}
	})
}

// dot is Σ xy of whole matrices.
func dot(x, y *mat.Dense) float64 { return floats.Dot(x.RawMatrix().Data, y.RawMatrix().Data) }

// marginalL1 is Σ|T1 − a| + Σ|Tᵀ1 − b|.
func marginalL1(t *mat.Dense, a, b []float64) float64 {
	n, m := t.Dims()
	total := 0.0
	for i := range n {
		total += math.Abs(floats.Sum(t.RawRowView(i)) - a[i])
	}
	for j := range m {
		total += math.Abs(mat.Sum(t.ColView(j)) - b[j])
	}
	return total
}

// precisionSolver is one of the solvers that are compared.
type precisionSolver struct {
	key, name string
	series    int
	run       runner
}

var precisionSolvers = []precisionSolver{
	{"scaling32", "kernel scaling, float32", 2, runTextbook(true)},
	{"scaling64", "kernel scaling, float64", 1, runTextbook(false)},
	{"log", "log-domain Sinkhorn", 3, runSolver(func(eps float64, k int) ot.Solver {
		return ot.Sinkhorn{Eps: eps, Tol: 1e-12, Relax: 1, Control: ot.Control{MaxIter: k, Anneal: 1}}
	})},
	{"annealed", "log-domain, annealed and over-relaxed", 4, runSolver(func(eps float64, k int) ot.Solver {
		return ot.Sinkhorn{Eps: eps, Tol: 1e-12, Control: ot.Control{MaxIter: k}}
	})},
	{"lbfgs", "L-BFGS on the semi-dual", 0, runSolver(func(eps float64, k int) ot.Solver {
		return ot.LBFGS{Eps: eps, Tol: 1e-12, Control: ot.Control{MaxIter: k}}
	})},
}

type runner = func(ctx context.Context, p ot.Problem, cost *mat.Dense, eps float64,
	iterations int) (*mat.Dense, SolverError)

func runTextbook(single bool) runner {
	return func(_ context.Context, p ot.Problem, cost *mat.Dense, eps float64, k int) (*mat.Dense, SolverError) {
		r := textbook{Eps: eps, MaxIter: k, Single: single}.solve(cost, p.A, p.B)
		return r.T, SolverError{Iterations: r.Iterations, Status: "not checked"}
	}
}

func runSolver(with func(eps float64, k int) ot.Solver) runner {
	return func(ctx context.Context, p ot.Problem, _ *mat.Dense, eps float64, k int) (*mat.Dense, SolverError) {
		plan := lab.Must(with(eps, k).Solve(ctx, p))
		return plan.Matrix(), SolverError{Iterations: plan.Iterations, Status: plan.Status.String()}
	}
}

func precisionGrid(set lab.Setting) []PrecisionParams {
	p := set.Preset
	ratios := kit.Decades(lab.Pick(p, 5, 13, 13, 17), 0, -4)
	base := PrecisionParams{N: lab.Pick(p, 60, 200, 200, 1000), M: lab.Pick(p, 50, 160, 160, 800),
		Iterations: lab.Pick(p, 1000, 1000, 1000, 2000)}
	return lab.Grid(base, lab.Vary(func(p *PrecisionParams, r float64) { p.Ratio = r }, ratios...))
}

func drawPrecision(v precisionView) (lab.Exhibit, error) {
	cells := v.Cells
	first := cells[0].Params
	panels := style.Panels{Letters: true, Items: []style.Drawer{
		precisionPlot(cells, "error of the plan, Σ|T − T*|", func(e SolverError) float64 { return e.Plan }),
		precisionPlot(cells, "relative error of the sharp loss", func(e SolverError) float64 { return e.Sharp }),
	}}
	return lab.Exhibit{
		Pictures: kit.Wide(panels, v.Badge(fmt.Sprintf("%d × %d atoms", first.N, first.M)),
			fmt.Sprintf(
				"Error after at most %d iterations, over ε, %d × %d atoms. Marks at the top: the result is not a "+
					"number.", first.Iterations, first.N, first.M)),
		Tables: []lab.Table{precisionTable(cells)},
		Notes: []string{"The right plan T* is by Newton's method; its marginal error, in the table, bounds the " +
			"error of each of its entries. A plan cannot be off by more than 2."},
	}, nil
}

// precisionPlot draws an error over ε.
func precisionPlot(cells []lab.Result[PrecisionParams, PrecisionOut], label string,
	of func(SolverError) float64) style.Plot {
	const top = 1e2 // where results that are not numbers are marked
	p := style.Plot{
		X: style.Axis{Label: "ε / mean cost", Log: true},
		Y: style.Axis{Label: label, Log: true, Min: 1e-16, Max: 1e4},
	}
	var lost []plot.Plotter
	for _, s := range precisionSolvers {
		l := style.Line{Name: s.name, Series: s.series, Marks: true}
		no := style.Points{Series: s.series}
		for _, c := range cells {
			e := of(c.Value.Solver[s.key])
			if math.IsNaN(e) || e > top {
				no.X, no.Y = append(no.X, c.Params.Ratio), append(no.Y, top)
				continue
			}
			l.X, l.Y = append(l.X, c.Params.Ratio), append(l.Y, max(e, p.Y.Min))
		}
		p.Items = append(p.Items, l)
		lost = append(lost, no)
	}
	p.Items = append(p.Items, lost...)
	p.Items = append(p.Items, style.Note{X: cells[0].Params.Ratio, Y: top, Text: "not a number", DX: -1})
	return p
}

func precisionTable(cells []lab.Result[PrecisionParams, PrecisionOut]) lab.Table {
	t := kit.Table("precision",
		"Error of the plan, Σ|T − T*|, and the status that the solver reports (kernel scaling checks nothing).",
		"ε / mean cost | reference's marginal error")
	for _, s := range precisionSolvers {
		t.Header = append(t.Header, s.name, "status")
	}
	for _, c := range cells {
		row := kit.Row("%.2g | %.1e", c.Params.Ratio, c.Value.Reference)
		for _, s := range precisionSolvers {
			e := c.Value.Solver[s.key]
			row = append(row, fmt.Sprintf("%.1e", e.Plan), e.Status)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func claimPrecision(v precisionView) ([]lab.Claim, error) {
	cells := v.Cells
	worst, reference := math.Inf(-1), math.Inf(-1)
	for _, c := range cells {
		worst, reference = max(worst, c.Value.Solver["lbfgs"].Plan), max(reference, c.Value.Reference)
	}
	last := cells[len(cells)-1].Value
	wrong := func(key string) float64 { // NaN is as wrong as a plan can be
		if e := last.Solver[key].Plan; !math.IsNaN(e) {
			return e
		}
		return 2
	}
	return []lab.Claim{
		kit.AtMost("marginal error of the reference plans, the largest", "T1 = a, Tᵀ1 = b", reference,
			1e-11, "asked for 1e-13; rounding of n + m sums of the matrix", wrongPlans),
		kit.AtMost("error of L-BFGS's plan, the largest over ε", "“accurate”: abstract", worst, 1e-6,
			"an L1 marginal error t bounds entries by t/2, not their sum; some hundred entries along the ridge "+
				"matter at the smallest ε", wrongPlans),
		kit.AtLeast("error of kernel scaling's plan in float64 at the smallest ε",
			"“can quickly lose precision”: introduction", wrong("scaling64"), 1e-2,
			"exp(−c/ε) underflows for c > 745 ε", rightPlans),
		kit.AtLeast("error of log-domain Sinkhorn's plan at the smallest ε",
			"“still suffer from slow convergence”: introduction", wrong("log"), 1e-2,
			"its error falls no faster than 1/iterations before the linear phase, which is some c/ε iterations away",
			rightPlans),
	}, nil
}

// precisionView is the finished cells.
type precisionView = lab.View[PrecisionParams, PrecisionOut]
