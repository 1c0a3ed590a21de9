package ot

import (
	"cmp"
	"context"
	"math"
	"time"

	"coupling/ot/cost"
	"coupling/ot/internal/devicepass"
	"coupling/ot/internal/ondevice"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
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
		return nil, bad(ErrParameter, "Eps = %g: the costs span %g ε, more than %g: use exact transport", eps, span, maxSpan)
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
	r.halt = r.Trace(Step{Iteration: r.iter, Evaluation: r.s.Evals, Eps: r.s.Eps, MarginalL1: r.err * r.s.Total, Elapsed: time.Since(r.began)})
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
	if r.s.Rebased() {
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
	u, penalised := s.Marginals.(*unbalanced)
	if penalised {
		p.t, p.penalties = transport.New(s, r.beta, u.row, p.MarginalL1), &penalties{u.rhoA, u.rhoB}
	} else {
		p.t = transport.New(s, r.beta, nil, p.MarginalL1)
	}
	t := p.t
	p.Geometry, p.A, p.B, p.Eps = r.geometry, t.A, t.B, t.Eps
	p.Alpha, p.Beta, p.F, p.G = t.Alpha, t.Beta, t.F, t.G
	if penalised {
		p.penalisedGauge(u.shift)
	}
	return p
}

// evalOnce evaluates over every cost at the problem's ε, whatever the context.
func (r *run) evalOnce() {
	r.s.SetEps(r.beta, r.eps)
	defer r.s.LastEvaluation()()
	r.err = r.s.Eval(r.beta, 1)
}
