package analytic

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/exact"

	"gonum.org/v1/gonum/mat"
)

// Convergence is the marginal error of every solver over time.
func Convergence() lab.Study[ConvergenceParams, ConvergenceOut] {
	return lab.Study[ConvergenceParams, ConvergenceOut]{
		Name:  "analytic/convergence",
		Title: "Error against time for every solver",
		Shows: "Points in the plane, squared cost. At large ε all solvers converge at once; as ε falls, the " +
			"alternate updates of Sinkhorn's " +
			"algorithm, by the kernel or in the log domain, crawl, and L-BFGS and Newton's method on the semi-dual " +
			"hardly notice.",
		Sizes: kit.Sizes("n = %v, 3 values of ε, at most %v passes a solver",
			kit.Per{100, 400, 1000, 4000}, kit.Per{5000, 10000, 10000, 10000}),
		Seconds:    kit.ByPreset(3., 5, 40, 2000),
		Experiment: convergenceOf,
		Grid:       convergenceGrid,
		Draw:       drawConvergence,
		Claims:     claimConvergence,
	}
}

// ConvergenceParams is one run of all solvers, one after the other on one thread, and of exact
// transport where Exact says so.
type ConvergenceParams struct {
	N      int       `json:"n" min:"1" doc:"points of each side"`
	Ratios []float64 `json:"ratios" min:">0" doc:"ε over the mean cost"`
	Tol    float64   `json:"tol" min:">0" doc:"marginal error at which a solver stops"`
	Passes int       `json:"passes" min:"1" doc:"passes over the costs after which a solver stops"`
	Repeat int       `json:"repeat,omitempty" min:"0" doc:"runs of a fast solver, of which the fastest counts; 0: one"`
	Exact  bool      `json:"exact,omitempty" doc:"times exact transport by the network simplex too"`
	Device string    `json:"device,omitempty" doc:"a GPU that takes part with L-BFGS: cuda:0"`
}

// ConvergenceOut holds a run for each solver and ε.
type ConvergenceOut struct {
	Runs []ConvergenceRun `json:"runs"`
}

// ConvergenceRun is one solver at one ε: the error over time at the problem's own ε, time spent
// annealing included. Only Seconds depends on a clock.
type ConvergenceRun struct {
	Solver  string    `json:"solver"`
	Ratio   float64   `json:"ratio"`   // 0: exact
	Seconds []float64 `json:"seconds"` // processor time of the thread, where the system counts it (Linux)
	Error   []float64 `json:"error"`
	Passes  int       `json:"passes"` // evaluations in all
	Status  string    `json:"status"`
}

var convergenceOf = lab.Experiment[ConvergenceParams, ConvergenceOut]{
	Name: "analytic/convergence", Version: 3,
	Run: func(ctx context.Context, c *lab.Cell, p ConvergenceParams) (ConvergenceOut, error) {
		prob := clouds(c.Rand("clouds"), p.N)
		cost := ot.Cost(prob.Geometry)
		solvers, free := solversOn(c, p.Device, p.N)
		defer free()
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var out ConvergenceOut
		for i, r := range p.Ratios {
			eps := r * meanCost(cost, prob.A, prob.B)
			for k, s := range solvers {
				run := fastest(p, func() ConvergenceRun { return traceSolver(ctx, s, prob, cost, eps, p) })
				run.Ratio = r
				out.Runs = append(out.Runs, run)
				c.Progress(i*len(solvers)+k+1, len(p.Ratios)*len(solvers))
			}
		}
		if p.Exact {
			out.Runs = append(out.Runs, fastest(p, func() ConvergenceRun { return runSimplex(ctx, prob, cost) }))
		}
		return out, nil
	},
}

// timedSolver is a solver whose time is measured.
type timedSolver struct {
	name   string
	series int
	// with makes the solver; nil is the textbook's kernel scaling.
	with func(eps, tol float64, trace func(ot.Step) error) ot.Solver
	// on is the problem with its costs on a device; nil: on the host.
	on *ot.Problem
}

// manyIterations is more than Passes allows.
const manyIterations = 1 << 30

var timedSolvers = []timedSolver{
	{name: "kernel scaling, textbook", series: 2},
	{name: "kernel scaling, over-relaxed", series: 1, with: func(eps, tol float64, t func(ot.Step) error) ot.Solver {
		return ot.Scaling{Eps: eps, Tol: tol, Control: ot.Control{MaxIter: manyIterations, Workers: 1, Trace: t}}
	}},
	{name: "log-domain Sinkhorn", series: 3, with: func(eps, tol float64, t func(ot.Step) error) ot.Solver {
		return ot.Sinkhorn{
			Eps:     eps,
			Tol:     tol,
			Relax:   1,
			Control: ot.Control{MaxIter: manyIterations, Anneal: 1, Workers: 1, Trace: t},
		}
	}},
	{name: "log-domain, annealed, over-relaxed", series: 4,
		with: func(eps, tol float64, t func(ot.Step) error) ot.Solver {
			return ot.Sinkhorn{Eps: eps, Tol: tol, Control: ot.Control{MaxIter: manyIterations, Workers: 1, Trace: t}}
		}},
	{name: "L-BFGS", with: lbfgs},
	{name: "Newton", series: 5, with: func(eps, tol float64, t func(ot.Step) error) ot.Solver {
		return ot.Newton{Eps: eps, Tol: tol, Control: ot.Control{MaxIter: manyIterations, Workers: 1, Trace: t}}
	}},
}

func lbfgs(eps, tol float64, t func(ot.Step) error) ot.Solver {
	return ot.LBFGS{Eps: eps, Tol: tol, Control: ot.Control{MaxIter: manyIterations, Workers: 1, Trace: t}}
}

// solversOn are the timedSolvers and, unless the key is empty, L-BFGS with the costs of n points on
// a device. free is called at the end.
func solversOn(c *lab.Cell, key string, n int) (all []timedSolver, free func()) {
	if key == "" {
		return timedSolvers, func() {}
	}
	dev := lab.Must(c.Device(key))
	var costs *ot.OnDevice
	p := cloudsBy(c.Rand("clouds"), n, func(x, y *mat.Dense) cost.Geometry {
		costs = ot.PointsOn(dev, x, y, ot.SqEuclidean)
		return costs
	})
	gpu := timedSolver{name: "L-BFGS, costs on " + key, series: 6, with: lbfgs, on: &p}
	return append(slices.Clone(timedSolvers), gpu), func() { costs.Close() }
}

// beside is the key of a device that is to stand beside the processor: empty where that is the processor.
func beside(key string) string {
	if strings.HasPrefix(key, "cpu") {
		return ""
	}
	return key
}

// Statuses of runs beside those of package ot.
const (
	passLimit = "pass limit"
	notNumber = "not a number"
	refused   = "refused: underflow"
)

// errPasses ends a solve whose passes are used up.
var errPasses = errors.New("no passes are left")

// run solves a problem until the solver converges or its passes are used up, and returns how it ended.
func (s timedSolver) run(
	ctx context.Context, p ot.Problem, cost *mat.Dense, eps float64, params ConvergenceParams, note func(ot.Step),
) (status string) {
	trace := func(st ot.Step) error {
		if note(st); st.Evaluation >= params.Passes {
			return errPasses
		}
		return nil
	}
	if s.with == nil {
		switch r := (textbook{
			Eps:     eps,
			Tol:     params.Tol,
			MaxIter: manyIterations,
			Trace:   trace,
		}).solve(cost, p.A, p.B); {
		case math.IsNaN(r.MarginalL1):
			return notNumber
		case r.MarginalL1 <= params.Tol:
			return ot.Converged.String()
		}
		return passLimit
	}
	if s.on != nil {
		p = *s.on
	}
	plan, err := s.with(eps, params.Tol, trace).Solve(ctx, p)
	switch {
	case errors.Is(err, ot.ErrUnsupported):
		return refused
	case errors.Is(err, errPasses):
		return passLimit
	case err != nil:
		lab.Check(fmt.Errorf("%s at ε = %g: %w", s.name, eps, err))
	}
	return plan.Status.String()
}

// fastest repeats a run as often as the parameters say. The runs differ in time alone.
func fastest(p ConvergenceParams, run func() ConvergenceRun) (best ConvergenceRun) {
	best = run()
	for k := 1; k < p.Repeat && (best.Solver == simplexName || best.Passes <= p.Passes/10); k++ {
		if r := run(); r.last() < best.last() {
			best = r
		}
	}
	return best
}

// last is the time at which a run that converged ended; NaN of others.
func (r ConvergenceRun) last() float64 {
	if r.Status != ot.Converged.String() || len(r.Seconds) == 0 {
		return math.NaN()
	}
	return r.Seconds[len(r.Seconds)-1]
}

// runSimplex times exact transport.
func runSimplex(ctx context.Context, p ot.Problem, cost *mat.Dense) ConvergenceRun {
	began := kit.CPUSeconds()
	w := lab.Must(exact.Simplex{}.Solve(ctx, ot.Problem{Geometry: ot.Dense(cost), A: p.A, B: p.B}))
	return ConvergenceRun{
		Solver:  simplexName,
		Seconds: []float64{kit.CPUSeconds() - began},
		Error:   []float64{0},
		Passes:  w.Pivots,
		Status:  ot.Converged.String(),
	}
}

// simplexName is the exact solver in the figures; it has no ε.
const simplexName = "network simplex (exact)"

// traceSolver keeps the errors of one solver over time, at the problem's own ε.
func traceSolver(ctx context.Context, s timedSolver, p ot.Problem, cost *mat.Dense, eps float64,
	params ConvergenceParams) (out ConvergenceRun) {
	clock := kit.CPUSeconds
	if s.on != nil { // the device's time is no processor's
		clock = kit.WallSeconds
	}
	out.Solver = s.name
	began, kept := clock(), 0
	var last ot.Step
	keep := func(st ot.Step, at float64) {
		kept, out.Seconds, out.Error = st.Evaluation, append(out.Seconds, at), append(out.Error, st.MarginalL1)
	}
	var at float64
	out.Status = s.run(ctx, p, cost, eps, params, func(st ot.Step) {
		out.Passes = st.Evaluation
		if st.Eps != eps || math.IsNaN(st.MarginalL1) {
			return
		}
		last, at = st, clock()-began
		if kept == 0 || float64(st.Evaluation) > 1.096*float64(kept) { // a twenty-fifth of a decade
			keep(st, at)
		}
	})
	if last.Evaluation > kept {
		keep(last, at)
	}
	return out
}

func convergenceGrid(set lab.Setting) []ConvergenceParams {
	p := set.Preset
	return []ConvergenceParams{{
		N: lab.Pick(p, 100, 400, 1000, 4000), Ratios: []float64{.1, .01, .001}, Tol: 1e-12,
		Passes: lab.Pick(p, 5000, 10000, 10000, 10000), Device: beside(set.Device),
	}}
}

// nobodyArrives is the null of solvers that all stop after a second, with three digits.
var nobodyArrives = kit.Null("no solver arrives", convergenceOf, func(_ ConvergenceParams, v *ConvergenceOut) {
	for k := range v.Runs {
		r := &v.Runs[k]
		r.Seconds, r.Error = []float64{1}, []float64{1e-3}
	}
})

func drawConvergence(v convergenceView) (lab.Exhibit, error) {
	cell := v.Cells[0]
	p := cell.Params
	panels := style.Panels{Letters: true, ShareY: true, ShareX: true}
	for _, r := range p.Ratios {
		plot := style.Plot{
			Title: fmt.Sprintf("ε = %g × mean cost", r),
			X:     style.Axis{Label: "time", Unit: "s", Log: true},
			Y:     style.Axis{Label: "L^{1} error of the marginals", Log: true, Min: 1e-13, Max: 10}, Aspect: 1,
		}
		var ends style.Points
		for _, run := range cell.Value.Runs {
			if run.Ratio != r {
				continue
			}
			plot.Items = append(plot.Items, style.Line{
				Name:   run.Solver,
				Series: seriesOf(run.Solver),
				X:      run.Seconds,
				Y:      run.Error,
			})
			if k := len(run.Seconds) - 1; k >= 0 && run.Status == notNumber {
				ends.X, ends.Y = append(ends.X, run.Seconds[k]), append(ends.Y, run.Error[k])
			}
		}
		if len(ends.X) > 0 {
			ends.Name, ends.Series, ends.Radius = "then not a number", 2, 3
			plot.Items = append(plot.Items, ends)
		}
		panels.Items = append(panels.Items, plot)
	}
	return lab.Exhibit{
		Pictures: kit.Wide(panels, v.Badge(fmt.Sprintf("n = %d", p.N)),
			fmt.Sprintf(
				"L1 error of both marginals over time, %d + %d points in the plane, float64, costs in memory. %s A "+
					"line begins when the solver is done "+
					"annealing; solvers stop at %g or after %d passes.", p.N, p.N, onMachine(cell.Manifest, p.Device),
				p.Tol, p.Passes)),
		Tables: []lab.Table{convergenceTable(cell)},
		Notes: []string{"Textbook scaling is a product with K = exp(−c/ε) and one with its transpose by gonum's " +
			"assembly BLAS, and stops when its result is not a number. " +
			"The over-relaxed one refuses problems in which K would underflow."},
	}, nil
}

func seriesOf(solver string) int {
	for _, s := range timedSolvers {
		if s.name == solver {
			return s.series
		}
	}
	return len(timedSolvers)
}

// reached is the time at which a run's error first is at most e; infinite if never.
func (r ConvergenceRun) reached(e float64) float64 {
	for k, v := range r.Error {
		if v <= e {
			return r.Seconds[k]
		}
	}
	return math.Inf(1)
}

func convergenceTable(cell lab.Result[ConvergenceParams, ConvergenceOut]) lab.Table {
	return lab.Table{Name: "times", Caption: "Seconds to an L1 marginal error, and how each run ended.",
		Header: []string{"ε / mean cost", "solver", "to 1e-3", "to 1e-6", "to 1e-9", "to 1e-12", "passes", "status"},
		Rows: kit.Each(cell.Value.Runs, func(r ConvergenceRun) []string {
			row := []string{fmt.Sprint(r.Ratio), r.Solver}
			for _, e := range []float64{1e-3, 1e-6, 1e-9, 1e-12} {
				text := "–"
				if at := r.reached(e); !math.IsInf(at, 1) {
					text = fmt.Sprintf("%.3f", at)
				}
				row = append(row, text)
			}
			return append(row, fmt.Sprint(r.Passes), r.Status)
		})}
}

// claimConvergence asks how far L-BFGS gets, and ratios of processor times on one thread, which no
// machine's speed changes.
func claimConvergence(v convergenceView) ([]lab.Claim, error) {
	cell := v.Cells[0]
	smallest := cell.Params.Ratios[len(cell.Params.Ratios)-1]
	runs, worst := map[string]ConvergenceRun{}, math.Inf(-1)
	for _, r := range cell.Value.Runs {
		if r.Ratio == smallest {
			runs[r.Solver] = r
		}
		if r.Solver == "L-BFGS" {
			worst = max(worst, r.Error[len(r.Error)-1])
		}
	}
	const e = 1e-6
	tooShort := lab.Pick(v.Preset, "times of milliseconds", "", "", "")
	behind := func(solver string) float64 {
		r, all := runs[solver], math.Inf(1)
		if k := len(r.Seconds) - 1; k >= 0 {
			all = r.Seconds[k] * float64(cell.Params.Passes) / float64(r.Passes)
		}
		return min(r.reached(e), all) / runs["L-BFGS"].reached(e)
	}
	why :=
		"a former that never gets there counts with the time of all its passes; 3 is chosen low, so that it holds " +
			"on a busy machine"
	return []lab.Claim{
		kit.AtMost("marginal error that L-BFGS reaches, the largest over ε",
			"“efficient and stable”: introduction", worst, 1e-10, "asked for 1e-12; the limit of "+
				"passes leaves it two decades", nobodyArrives),
		kit.AtLeastUnless(tooShort, "time of log-domain Sinkhorn over that of L-BFGS, to 1e-6 at "+
			"the smallest ε, at least", "“slow convergence”: introduction", behind("log-domain Sinkhorn"),
			3, why, nobodyArrives),
		kit.AtLeastUnless(tooShort, "time of kernel scaling over that of L-BFGS, to 1e-6 at the "+
			"smallest ε, at least", "“L-BFGS is a better candidate”: abstract",
			behind("kernel scaling, textbook"), 3, why, nobodyArrives),
	}, nil
}

// convergenceView is the finished cells.
type convergenceView = lab.View[ConvergenceParams, ConvergenceOut]
