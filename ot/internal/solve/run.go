package solve

import (
	"cmp"
	"context"
	"math"
	"time"

	"coupling/ot/internal/devicepass"
	"coupling/ot/internal/fault"
	"coupling/ot/internal/ondevice"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
	"coupling/ot/internal/transport"
)

// run is the state of a solve.
type run struct {
	Control
	ctx    context.Context
	s      *semidual.Function
	dev    *devicepass.Passes // nil where the geometry is not on a device
	beta   []float64
	mass   []float64 // T1 where it is not a
	stages []float64 // the values of ε, the problem's last
	iter   int
	status Status
	err    float64 // L1 error of the last eval
	began  time.Time
	halt   error // the error that Trace returned
}

// begin checks the input and sets up the first ε. It centres the costs, which does not change the
// plan of a balanced problem.
func begin(ctx context.Context, p Problem, c Control) (*run, error) {
	r, err := beginAsIs(ctx, p, c)
	if err != nil {
		return nil, err
	}
	if err := r.feasible(); err != nil {
		return nil, err
	}
	if r.s.N >= minSorted/r.s.M && c.Eps < sortBelow*r.s.Cost.Spread() {
		r.beta = r.s.Sort(r.beta)
	}
	r.s.CentreCosts()
	return r, nil
}

// minSorted is the n·m from which atoms are put in the order of trees, and sortBelow the ratio of ε to the spread of
// the costs below which they are: elsewhere stored kernels and lists of entries are faster.
var minSorted = 1 << 24

const sortBelow = 0.005

// beginAsIs is begin with the costs as they are.
func beginAsIs(ctx context.Context, p Problem, c Control) (*run, error) {
	began := time.Now()
	if err := c.check(); err != nil {
		return nil, err
	}
	in, err := p.check(c)
	if err != nil {
		return nil, err
	}
	if span := (in.Cost.Max - in.Cost.Min) / c.Eps; span > maxSpan {
		return nil, bad(fault.ErrParameter, "Eps = %g: the costs span %g ε, more than %g: "+
			"forbid pairs by a cost of +Inf, or use exact transport", c.Eps, span, maxSpan)
	}
	o, onDevice := in.G.(*ondevice.Geometry)
	uncentred := onDevice || semidual.Separate(in.G) != nil
	if size := max(-in.Cost.Min, in.Cost.Max) / c.Eps; uncentred && size > maxSpan {
		return nil, bad(fault.ErrParameter, "Eps = %g: costs on a grid or a device are up to %g ε, more than %g: "+
			"subtract a constant from them", c.Eps, size, maxSpan)
	}
	c.Tol, c.MaxIter = cmp.Or(c.Tol, defaultTol), cmp.Or(c.MaxIter, defaultMaxIter)
	r := &run{Control: c, ctx: ctx, began: began, s: semidual.New(in, c.Workers)}
	if onDevice {
		r.dev = devicepass.New(o)
		r.s.SetDevice(r.dev)
	}
	r.s.Tol = c.Tol
	if r.Start, err = r.settled(c.Start); err != nil {
		return nil, err
	}
	r.stages = r.schedule()
	r.s.Eps = r.stages[0]
	r.beta = r.s.Start(r.Start)
	return r, nil
}

// settled returns a start without a constant larger than the range of the costs, which would only cost digits, and
// without differences that no plan's potentials have, unless they are to stay as given.
func (r *run) settled(g []float64) ([]float64, error) {
	if g == nil {
		return nil, nil
	}
	low, high := math.Inf(1), math.Inf(-1)
	for j, v := range g {
		if r.s.B[j] > 0 {
			low, high = min(low, v), max(high, v)
		}
	}
	reach, middle, by := r.s.Reach(r.Eps), low/2+high/2, 0.0
	if math.Abs(middle) > reach {
		by = middle
	}
	out := r.s.Memory.Clone(g)
	switch span := (high/2 - low/2) / r.Eps; {
	case !r.asGiven:
		for j, v := range g {
			out[j] = max(middle-reach, min(middle+reach, v))
		}
	case span > maxSpan/2:
		return nil, bad(fault.ErrParameter, "g: potentials span %g ε, more than %g", 2*span, maxSpan)
	}
	rows.Shift(out, -by)
	return out, nil
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

// finish returns the result of a solve that ended with err: the plan so far if it was interrupted,
// none if it failed.
func (r *run) finish(err error) (*Result, error) {
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
	if r.status == Converged && !r.resolved() {
		r.status = Stagnated
	}
	r.beta = r.s.Unsort(r.beta)
	l1 := r.err * r.s.Total
	return &Result{
		Plan:        transport.New(r.s, r.beta, r.mass, l1),
		Status:      r.status,
		Iterations:  r.iter,
		Evaluations: r.s.Evals,
		MarginalL1:  l1,
	}, err
}

// resolved reports whether potentials are so small that rounding leaves T within what Converged promises: to Tol
// along the axes of a grid, where column sums are those of rounded α and β, and to √Tol in each entry elsewhere.
func (r *run) resolved() bool {
	s, mass, far := r.s, r.s.A, 0.0
	if r.mass != nil {
		mass = r.mass
	}
	for i, w := range mass {
		if w > 0 {
			far = max(far, math.Abs(s.Alpha[i]))
		}
	}
	for j, w := range s.Wanted() {
		if w > semidual.ColumnUnderflow {
			far = max(far, math.Abs(r.beta[j]))
		}
	}
	noise := 0x1p-53 * far / s.Eps
	if semidual.Separate(s.G) != nil {
		return noise*kern.Sum(mass) <= r.Tol*s.Total
	}
	return noise <= columnTol(r.Tol)
}

// evalOnce evaluates over every cost at the problem's ε, whatever the context.
func (r *run) evalOnce() {
	r.s.SetEps(r.beta, r.Eps)
	defer r.s.LastEvaluation()()
	r.err = r.s.Eval(r.beta, 1)
}
