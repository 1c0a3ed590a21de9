package ot

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"coupling/ot/cost"
	"coupling/ot/internal/devicepass"
	"coupling/ot/internal/ondevice"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
	"coupling/ot/internal/simplex"
	"coupling/ot/internal/transport"
)

// run is the state of a solve.
type run struct {
	Control
	ctx               context.Context
	s                 *semidual.Function
	dev               *devicepass.Passes // nil where the geometry is not on a device
	geometry          cost.Geometry      // the user's
	beta              []float64
	mass              []float64 // T1 where it is not a
	eps, tol          float64   // of the problem
	stages            []float64 // the values of ε, the problem's last
	iter              int
	status            Status
	err               float64 // L1 error of the last eval
	warmStartAccepted bool    // the user's start was good and has been evaluated
	began             time.Time
	halt              error // the error that Trace returned
}

// begin checks the input and sets up the first ε. It centres the costs, which does not change the
// plan of a balanced problem.
func (c Control) begin(ctx context.Context, p Problem, eps, tol float64) (*run, error) {
	r, err := c.beginAsIs(ctx, p, eps, tol)
	if err != nil {
		return nil, err
	}
	if err := r.feasible(); err != nil {
		return nil, err
	}
	if eps < annealBelow*r.s.Cost.Spread() {
		r.beta = r.s.Sort(r.beta)
	}
	if by := r.s.CentreCosts(); c.Start != nil {
		rows.Shift(r.beta, -by/2) // each side's potentials take half of it
	}
	return r, nil
}

// beginAsIs is begin with the costs as they are.
func (c Control) beginAsIs(ctx context.Context, p Problem, eps, tol float64) (*run, error) {
	began := time.Now()
	if err := c.check(eps, tol); err != nil {
		return nil, err
	}
	in, err := p.check(c.Workers)
	if err != nil {
		return nil, err
	}
	if span := (in.Cost.Max - in.Cost.Min) / eps; span > maxSpan {
		return nil, bad(ErrParameter, "Eps = %g: the costs span %g ε, more than %g: "+
			"forbid pairs by a cost of +Inf, or use exact transport", eps, span, maxSpan)
	}
	if err := checkStart("Start", c.Start, in.M); err != nil {
		return nil, err
	}
	r := &run{
		Control: c, ctx: ctx, began: began, s: semidual.New(in, c.Workers), geometry: p.Geometry,
		eps: eps, tol: cmp.Or(tol, defaultTol),
	}
	if o, ok := in.G.(*ondevice.Geometry); ok {
		r.dev = devicepass.New(o)
		r.s.SetDevice(r.dev)
	}
	r.s.Tol, r.MaxIter = r.tol, cmp.Or(c.MaxIter, defaultMaxIter)
	r.stages = r.schedule()
	r.s.Eps = r.stages[0]
	r.beta = r.s.Start(c.Start)
	return r, nil
}

// maxSpan is the range of the costs, in units of ε, up to which reduced costs resolve the plan: beyond 1e15 a
// potential in float64 is coarser than ε.
const maxSpan = 1e14

// eval evaluates at r.beta, calls Trace, and returns the error of a context that ended.
func (r *run) eval(beta []float64, relax float64) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	r.err = r.s.EvalResolved(beta, relax)
	if err := r.s.DeviceFailure(); err != nil {
		return err
	}
	if r.Trace != nil {
		return r.trace()
	}
	return nil
}

// trace calls Trace and keeps the error that it returned.
func (r *run) trace() error {
	r.halt = r.Trace(Step{
		Iteration:  r.iter,
		Evaluation: r.s.Evals,
		Eps:        r.s.Eps,
		MarginalL1: r.err * r.s.Total,
		Elapsed:    time.Since(r.began),
	})
	return r.halt
}

// certify evaluates over every cost in the log domain, unless the last evaluation did.
func (r *run) certify() error {
	if r.s.Certified() {
		return nil
	}
	defer r.s.LastEvaluation()()
	return r.eval(r.beta, 1)
}

// refine moves to reduced costs, once, if costs are so large against ε that the rounding of
// potentials may limit the error. It reports whether it did.
func (r *run) refine() bool {
	if r.s.Rebased() || semidual.Separate(r.s.G) != nil {
		return false
	}
	if c := r.s.Cost; max(math.Abs(c.Max), math.Abs(c.Min), c.Max-c.Min) < 100*r.s.Eps {
		return false
	}
	r.s.Rebase(r.beta)
	return true
}

// finish returns the plan of a solve that ended with err: the plan so far if it was interrupted,
// none if it failed.
func (r *run) finish(solver string, err error) (*Plan, error) {
	if err != nil {
		if r.ctx.Err() == nil && r.halt == nil {
			return nil, err
		}
		r.evalOnce()
		if err := r.s.DeviceFailure(); err != nil {
			return nil, err
		}
		r.status = Interrupted
	}
	return r.plan(solver), err
}

// plan returns the plan of the last eval(r.beta, 1).
func (r *run) plan(solver string) *Plan {
	s := r.s
	r.beta = s.Unsort(r.beta)
	p := &Plan{Status: r.status, Solver: solver, Iterations: r.iter, Evaluations: s.Evals, MarginalL1: r.err * s.Total}
	p.t = transport.New(s, r.beta, r.mass, p.MarginalL1)
	t := p.t
	p.Geometry, p.A, p.B, p.Eps = r.geometry, t.A, t.B, t.Eps
	p.Alpha, p.Beta, p.F, p.G = t.Alpha, t.Beta, t.F, t.G
	return p
}

// evalOnce evaluates over every cost at the problem's ε, whatever the context.
func (r *run) evalOnce() {
	r.s.SetEps(r.beta, r.eps)
	defer r.s.LastEvaluation()()
	r.err = r.s.Eval(r.beta, 1)
}

// maxRestart is the largest n·m for which a stalled solve restarts from the exact potentials: about
// a second of the network simplex.
const maxRestart = 1 << 20

// feasible reports a problem that has no plan but by forbidden pairs, by exact transport, at no cost by listed pairs.
func (r *run) feasible() error {
	s, of := r.s, r.s.G
	if l := semidual.Listing(of); l != nil {
		of = semidual.AtNoCost(l)
	} else if s.N > maxRestart/s.M {
		return nil
	}
	if !s.Cost.Forbidden {
		return nil
	}
	if _, err := simplex.Solve(r.ctx, s.A, s.B, of, 0, func(int, int, float64) {}); errors.Is(err, ErrInfeasible) {
		return err
	}
	return nil
}

// anneal runs stage at each ε of the schedule, with loose tolerances until the last.
func (r *run) anneal(stage func(tol float64, last bool) error) error {
	if r.Start != nil && len(r.stages) > 1 {
		if err := r.tryWarmStart(); err != nil {
			return err
		}
	}
	last := len(r.stages) - 1
	for k, eps := range r.stages {
		tol := max(stageTol, r.tol)
		if k == last {
			tol = r.tol
		}
		r.s.SetEps(r.beta, eps)
		if r.warmStartAccepted {
			r.s.ContinueStage(tol)
		} else {
			r.s.StartStage(tol)
		}
		if r.s.Evals > 0 { // potentials of a start or of the previous stage
			r.s.LeaveFloat32(r.err)
		}
		if err := stage(tol, k == last); err != nil {
			return err
		}
	}
	return nil
}

// startRegion is the L1 error above which a warm start is no better than a cold one.
const startRegion = 0.5

// tryWarmStart goes straight to the problem's ε if the user's start is good there, and drops the
// start if not, so that a bad start costs only one evaluation.
func (r *run) tryWarmStart() error {
	last := r.stages[len(r.stages)-1]
	r.s.SetEps(r.beta, last)
	r.s.StartStage(stageTol)
	if err := r.eval(r.beta, 1); err != nil {
		return err
	}
	if r.err <= startRegion {
		r.warmStartAccepted = true
		r.stages = r.stages[len(r.stages)-1:]
		return nil
	}
	r.s.Eps = r.stages[0]
	r.beta = r.s.Start(nil)
	return nil
}

// stageTol is the L1 error at which annealing goes on to the next ε: potentials need only be near
// the solution.
const stageTol = 0.05

// annealBelow is the ratio of ε to the spread of the costs below which annealing pays, unless the
// user asked for it.
const annealBelow = 0.04

// schedule lists the values of ε from the spread of the costs down to Eps.
func (r *run) schedule() []float64 {
	factor := r.Anneal
	if factor == 0 {
		factor = 0.25
		if r.eps >= annealBelow*r.s.Cost.Spread() {
			factor = 1
		}
	}
	var up []float64
	if factor < 1 && !r.s.Self { // a measure's potentials with itself are near 0 at every ε
		for e := r.eps / factor; e < r.s.Cost.Spread(); e /= factor {
			up = append(up, e)
		}
	}
	stages := make([]float64, 0, len(up)+1)
	for k := len(up) - 1; k >= 0; k-- {
		stages = append(stages, up[k])
	}
	return append(stages, r.eps)
}
