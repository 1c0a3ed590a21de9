package freg

import (
	"context"
	"errors"
	"math"
	"time"

	"coupling/lab/logspace"
	"coupling/ot"
	"coupling/ot/internal/linesearch"
	"coupling/ot/internal/simplex"
)

// run is the state of a solve by regularised Newton steps on the semi-dual.
type run struct {
	Solver
	ctx   context.Context
	begun time.Time
	s     *semidual
	h     *hessian

	psi, old  []float64
	best      []float64 // of the stage
	grad, dir []float64
	damp      float64 // μ of the hessian is this times the error
	direct    bool    // conjugate gradients have been too slow in this stage
	iter      int
	status    ot.Status
}

func newRun(ctx context.Context, o Solver, in *instance, begun time.Time) *run {
	f, _ := familyOf(o.F)
	m := len(in.b)
	v := func() []float64 { return make([]float64, m) }
	r := &run{
		Solver: o,
		ctx:    ctx,
		begun:  begun,
		s:      newSemidual(in, f, o.Workers),
		psi:    v(),
		old:    v(),
		best:   v(),
		grad:   v(),
		dir:    v(),
	}
	r.h = newHessian(r.s)
	if o.Start != nil {
		r.start()
	}
	return r
}

// start takes Start without its constant, which would only cost digits, and without differences that
// hardly any solution has: they are at most the range of the costs, and along a chain of allowed pairs as a rule less
// than 1e3 λ more for each.
func (r *run) start() {
	in := r.s.instance
	low, high, reach := math.Inf(1), math.Inf(-1), in.cost.Max-in.cost.Min
	for _, j := range in.cols {
		low, high = min(low, r.Start[j]), max(high, r.Start[j])
	}
	if in.cost.Forbidden {
		reach = (reach + 1e3*r.Lambda) * float64(len(in.a)+len(in.b))
	}
	for l, j := range in.cols {
		r.psi[l] = max(-reach, min(reach, r.Start[j]-(low+high)/2))
	}
}

// run solves at Lambda. Where λ is below the spread of the costs it starts from the potentials of
// exact transport, which are the limit for λ → 0 and, as measured for λ up to the spread, a few
// Newton steps from the solution; if that fails, λ is annealed. For a ramp with λ of at least 1e-4
// of the spread, λ is always annealed: this takes hardly more steps and, where potentials are not
// unique, leads to the middle of their set. The potentials of a vertex are on its boundary, where
// entries that should be 0 are barely so.
func (r *run) run() error {
	r.s.lambda = r.Lambda
	relative := r.Lambda / r.s.cost.Spread()
	if r.Start != nil || !(relative < 1) {
		return r.last()
	}
	if r.s.f != ramp || relative < 1e-4 {
		found, err := r.startFromExact()
		if err != nil {
			return err
		}
		if found {
			if err := r.last(); err != nil || r.status != ot.Stagnated || r.s.err < roundingError {
				return err
			}
			clear(r.psi)
		}
	}
	if err := r.anneal(); err != nil {
		return err
	}
	return r.last()
}

// startFromExact sets psi to the potentials of exact transport, and reports whether there are any.
func (r *run) startFromExact() (bool, error) {
	best, err := r.exact()
	if best == nil {
		return false, err
	}
	copy(r.psi, best.G)
	return true, nil
}

// exact solves without regularisation; nil for what the simplex refuses (weights or costs of
// extreme range) but where there is no plan.
func (r *run) exact() (*simplex.Result, error) {
	in := r.s.instance
	best, err := simplex.Solve(r.ctx, in.a, in.b, compact{in, make([]float64, len(in.full.b))}, 0,
		func(int, int, float64) {})
	if err != nil && !errors.Is(err, ot.ErrInfeasible) {
		return nil, r.ctx.Err()
	}
	return best, err
}

const (
	annealing     = 0.1  // one λ to the next
	stageTol      = 0.03 // the error at which λ falls
	firstDamp     = 0.01
	maxPolish     = 10   // half steps at the end
	roundingError = 1e-9 // an error below may be due to rounding
)

// anneal solves roughly for λ falling from the spread of the costs, where any potentials are a good
// start, to above Lambda.
func (r *run) anneal() error {
	stages := int(math.Ceil(logspace.Log(r.s.cost.Spread()/r.Lambda) / -logspace.Log(annealing)))
	for k := stages; k > 0; k-- {
		r.s.lambda = r.Lambda * math.Pow(annealing, -float64(k))
		if err := r.stage(max(stageTol, r.Tol)); err != nil {
			return err
		}
	}
	r.s.lambda = r.Lambda
	return nil
}

// last runs the stage at Lambda.
func (r *run) last() error {
	for rebases := 0; ; rebases++ {
		if err := r.stage(r.Tol); err != nil || r.status != ot.Stagnated || rebases == 2 {
			return err
		}
		// The potentials may be too coarse for this λ.
		phi := make([]float64, len(r.s.a))
		r.s.phi(phi)
		r.s.rebase(phi, r.psi)
		clear(r.psi)
	}
}

// patience is the number of steps without a tenth of progress after which a stage stops. Near the
// rounding of the marginals it is small. Far from it, at tiny λ, where the plan is close to a
// vertex, the error may stay constant for many steps before it falls, so it is large.
func patience(err float64) int {
	if err < roundingError {
		return 15
	}
	return 60
}

// eval evaluates at r.psi, calls Trace, and returns the error of a context that ended.
func (r *run) eval() error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	r.s.eval(r.psi)
	if r.Trace != nil {
		r.Trace(ot.Step{
			Iteration:  r.iter,
			Evaluation: r.s.evals,
			Eps:        r.s.lambda,
			MarginalL1: r.s.err,
			Elapsed:    time.Since(r.begun),
		})
	}
	return nil
}

// stage takes Newton steps at the present λ until the error is at most tol.
func (r *run) stage(tol float64) error {
	r.damp, r.direct = firstDamp, false
	if err := r.eval(); err != nil {
		return err
	}
	least, mark, since, polished := math.Inf(1), math.Inf(1), 0, 0
	for {
		since++
		if r.s.err < 0.9*mark {
			mark, since = r.s.err, 0
		}
		if r.s.err < least {
			least = r.s.err
			copy(r.best, r.psi)
		}
		switch {
		case r.s.err <= tol && (r.s.lambda > r.Lambda || polished == maxPolish || !r.s.sinkhornColumns(r.psi)):
			r.status = ot.Converged
			return nil
		case r.s.err <= tol: // though columns of tiny weight were far from it
			polished++
			if err := r.eval(); err != nil {
				return err
			}
			continue
		case r.iter >= r.MaxIter:
			r.status = ot.IterationLimit
			return nil
		case since > patience(least):
			r.status = ot.Stagnated
			copy(r.psi, r.best)
			return r.eval()
		}
		r.iter++
		if err := r.step(); err != nil {
			return err
		}
	}
}

// step takes one Newton step, damped in proportion to the error: far from the solution the network
// may have links too weak to bound a step, and with a ramp the Hessian may be singular even at the
// solution. Since μ falls with the error, convergence is still superlinear (Li, Fukushima, Qi and
// Yamashita 2004).
func (r *run) step() error {
	s := r.s
	s.gradient(r.grad)
	r.h.assemble(r.psi, r.damp*min(1, s.err), min(0.1, 10*r.damp), min(1e-6, 1e-3*s.err))
	if err := r.direction(); err != nil {
		return err
	}
	slope := kern.Dot(r.dir, r.grad)
	if !(slope < 0) || math.IsInf(slope, 0) {
		one := s.f.slope(1)
		for j, b := range s.b {
			r.dir[j] = -s.lambda * r.grad[j] / (one * b)
		}
		slope = kern.Dot(r.dir, r.grad)
	}
	t, err := r.search(slope)
	switch {
	case t > 1:
		r.damp = max(r.damp/16, 1e-12)
	case t == 1:
		r.damp = max(r.damp/4, 1e-12)
	case t < 0.3:
		r.damp = min(1, r.damp*4)
		if err == nil && s.sinkhornColumns(r.psi) {
			return r.eval()
		}
	}
	return err
}

const (
	// eliminates is the number of targets up to which elimination is usually faster than conjugate
	// gradients.
	eliminates = 256
	// rescues is the number of targets up to which elimination is tried where conjugate gradients
	// stall.
	rescues = 2048
)

// direction writes −λ (D + Diag(ground))⁻¹ g, to the precision of forcing.
func (r *run) direction() (err error) {
	m, converged := len(r.psi), false
	switch {
	case m > rescues:
		_, err = r.h.conjugate(r.ctx, r.dir, r.grad, r.forcing(), 1000)
	case m > eliminates && !r.direct:
		converged, err = r.h.conjugate(r.ctx, r.dir, r.grad, r.forcing(), 60)
		r.direct = !converged
	}
	if err == nil && (m <= eliminates || r.direct) {
		err = r.h.eliminate(r.ctx, r.dir, r.grad)
	}
	kern.Scale(r.dir, r.s.lambda, r.dir)
	// Along the constants D is zero and the gradient is rounding, which a small ground would turn
	// into a large shift.
	shift := kern.Dot(r.dir, r.s.b)
	for j := range r.dir {
		r.dir[j] -= shift
	}
	return err
}

// forcing is the relative precision to which a linear system is solved.
func (r *run) forcing() float64 { return max(1e-6, min(0.05, r.s.err)) }

// search moves along dir to where the slope has fallen to between −½ and +0.3 of its size: for a
// convex function that is descent, and it needs no function values, whose noise floor is higher
// than that of slopes. If it does not succeed it goes back to a point known to be below the start.
// It returns the step.
func (r *run) search(slope float64) (float64, error) {
	copy(r.old, r.psi)
	bracket, t := linesearch.New(slope), 1.0
	const tries = 12
	for range tries {
		at, err := r.slopeAt(t)
		switch {
		case err != nil:
			return t, err
		case at < 0.5*slope:
			bracket.Before(t, at)
		case at <= -0.3*slope:
			return t, nil
		default: // NaN too
			bracket.Beyond(t, at)
		}
		if t = bracket.Next(); bracket.Lo == 0 && bracket.Hi < 0.5 {
			t = bracket.Hi / 10 // the slope may turn within any distance: a tiny atom changes its row
		}
	}
	_, err := r.slopeAt(bracket.Lo)
	return bracket.Lo, err
}

// slopeAt evaluates at old + t dir and returns the slope along dir.
func (r *run) slopeAt(t float64) (float64, error) {
	for j, d := range r.dir {
		r.psi[j] = r.old[j] + t*d
	}
	if err := r.eval(); err != nil {
		return 0, err
	}
	r.s.gradient(r.grad)
	return kern.Dot(r.dir, r.grad), nil
}
