package ot

import (
	"context"
	"math"
	"time"
)

const (
	// defaultTol is the L1 marginal error that solvers stop at where Tol is 0.
	defaultTol = 1e-9
	// defaultMaxIter is the number of steps that solvers take at most where MaxIter is 0.
	defaultMaxIter = 100_000
)

// Sinkhorn solves by alternate scaling in the log domain (Cuturi 2013; Schmitzer 2019), stable at every ε. One
// iteration is one fused pass over the costs with one exponential a cost, which makes the rows exact and sees the
// columns. ε is annealed, and the last stage is over-relaxed (Thibault et al. 2021; Lehmann et al. 2022).
//
// The zero value with Eps set works. LBFGS is faster at small ε.
type Sinkhorn struct {
	// Eps is the ε > 0 of the problem, in units of cost.
	Eps float64
	// Tol stops when the L1 error of the marginals is at most Tol; 0 is 1e-9.
	Tol float64
	// MaxIter is the largest number of iterations; 0 is 100,000.
	MaxIter int
	// Anneal in (0, 1] is the factor from one ε to the next, down to Eps from the spread of the costs; 0 is ¼, and 1
	// is no annealing.
	Anneal float64
	// Relax in [1, 2) is the over-relaxation; 1 is plain Sinkhorn, and 0 chooses it from the observed rate.
	Relax float64
	// Start holds KL potentials g of the m targets to start from (another plan's G); where they are good, annealing is skipped.
	Start []float64
	// Workers is the number of goroutines; 0 is GOMAXPROCS. The result does not depend on it.
	Workers int
	// Trace, where not nil, is called after every evaluation, from the goroutine that called Solve.
	Trace func(Step)
}

// Solve returns the plan of p. Errors are for bad input and for a context that ended; a solve that did not reach Tol
// returns its plan with a Status that says so.
func (o Sinkhorn) Solve(ctx context.Context, p Problem) (*Plan, error) {
	c := controls{Eps: o.Eps, Tol: o.Tol, MaxIter: o.MaxIter, Anneal: o.Anneal, Start: o.Start, Workers: o.Workers, Trace: o.Trace}
	if err := checkRelax(o.Relax); err != nil {
		return nil, err
	}
	r, err := c.begin(ctx, p)
	if err != nil {
		return nil, err
	}
	stage := func(tol float64, last bool) error { return r.sinkhornStage(tol, o.Relax, last) }
	if err := r.anneal(stage); err != nil {
		return nil, err
	}
	return r.finish("sinkhorn"), nil
}

// anneal runs stage at each ε of the schedule: loosely until the last.
func (r *run) anneal(stage func(tol float64, last bool) error) error {
	if r.Start != nil && len(r.stages) > 1 {
		if err := r.judgeStart(); err != nil {
			return err
		}
	}
	last := len(r.stages) - 1
	for k, eps := range r.stages {
		tol := max(stageTol, r.tol)
		if k == last {
			tol = r.tol
		}
		r.s.setEps(r.beta, eps)
		r.s.choosePass(tol)
		if err := stage(tol, k == last); err != nil {
			return err
		}
	}
	return nil
}

// controls are the fields that solvers share.
type controls struct {
	Eps, Tol float64
	MaxIter  int
	Anneal   float64
	Start    []float64
	Workers  int
	Trace    func(Step)
}

// run is the state of a solve.
type run struct {
	controls
	ctx    context.Context
	s      *semidual
	beta   []float64
	stages []float64 // the values of ε, the problem's last
	tol    float64
	iter   int
	status Status
	err    float64 // L1 error of the last eval
	began  time.Time
}

// begin checks everything and sets up the first ε.
func (c controls) begin(ctx context.Context, p Problem) (*run, error) {
	began := time.Now()
	if err := checkEps(c.Eps); err != nil {
		return nil, err
	}
	if err := checkTol(c.Tol); err != nil {
		return nil, err
	}
	if c.MaxIter < 0 {
		return nil, bad(ErrParameter, "MaxIter = %d: must be ≥ 0 (0 is %d)", c.MaxIter, defaultMaxIter)
	}
	if math.IsNaN(c.Anneal) || c.Anneal < 0 || c.Anneal > 1 {
		return nil, bad(ErrParameter, "Anneal = %g: must be in (0, 1], or 0 for ¼", c.Anneal)
	}
	in, err := p.check(c.Workers)
	if err != nil {
		return nil, err
	}
	if span := (in.cost.max - in.cost.min) / c.Eps; span > maxSpan {
		return nil, bad(ErrParameter, "Eps = %g: the costs span %g ε, more than %g: use exact transport", c.Eps, span, maxSpan)
	}
	if c.Start != nil {
		if len(c.Start) != in.m {
			return nil, bad(ErrShape, "Start has %d potentials for %d targets", len(c.Start), in.m)
		}
		for j, v := range c.Start {
			if v-v != 0 {
				return nil, bad(ErrParameter, "Start[%d] = %g: must be finite", j, v)
			}
		}
	}
	r := &run{controls: c, ctx: ctx, began: began, s: newSemidual(in, c.Workers), tol: c.Tol}
	if r.tol == 0 {
		r.tol = defaultTol
	}
	r.s.tol = r.tol
	if r.MaxIter == 0 {
		r.MaxIter = defaultMaxIter
	}
	r.stages = r.schedule()
	r.s.eps = r.stages[0]
	r.beta = r.s.start(c.Start)
	return r, nil
}

// maxSpan is the range of the costs, in units of ε, up to which reduced costs resolve the plan: beyond 1e15 a
// potential in float64 is coarser than ε.
const maxSpan = 1e14

// startRegion is the L1 error above which a start is no better than none.
const startRegion = 0.5

// judgeStart goes straight to the problem's ε where the user's start is good there, and forgets the start where not:
// so that a warm start never costs more than one evaluation.
func (r *run) judgeStart() error {
	last := r.stages[len(r.stages)-1]
	r.s.setEps(r.beta, last)
	r.s.choosePass(stageTol)
	if err := r.eval(r.beta, 1); err != nil {
		return err
	}
	if r.err <= startRegion {
		r.stages = r.stages[len(r.stages)-1:]
		return nil
	}
	r.s.eps = r.stages[0]
	r.beta = r.s.start(nil)
	return nil
}

// stageTol is the L1 error at which annealing goes on to the next ε: potentials need only be in the right region.
const stageTol = 0.05

// schedule lists the values of ε from the spread of the costs down to Eps.
func (r *run) schedule() []float64 {
	factor := r.Anneal
	if factor == 0 {
		factor = 0.25
	}
	var up []float64
	if factor < 1 {
		for e := r.Eps / factor; e < r.s.cost.spread(); e /= factor {
			up = append(up, e)
		}
	}
	stages := make([]float64, 0, len(up)+1)
	for k := len(up) - 1; k >= 0; k-- {
		stages = append(stages, up[k])
	}
	return append(stages, r.Eps)
}

// eval evaluates at r.beta, tells Trace, and reports a context that ended.
func (r *run) eval(beta []float64, relax float64) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	r.err = r.s.eval(beta, relax)
	if r.s.pass != exactPass && r.err < 20*r.s.noise() {
		// The next digits are beyond the fast passes.
		r.s.pass, r.s.act = exactPass, nil
		r.err = r.s.eval(beta, relax)
	}
	if r.Trace != nil {
		r.Trace(Step{Iteration: r.iter, Evaluation: r.s.evals, Eps: r.s.eps, MarginalL1: r.err, Elapsed: time.Since(r.began)})
	}
	return nil
}

// sinkhornStage iterates at the present ε until the error is at most tol.
func (r *run) sinkhornStage(tol, relax float64, last bool) error {
	omega := relaxation{fixed: relax, omega: 1}
	if !last {
		omega.fixed = 1
	}
	best := stagnation{}
	for {
		w := omega.omega
		if err := r.eval(r.beta, w); err != nil {
			return err
		}
		if r.err <= tol && w != 1 {
			// Only a plan with exact rows is returned.
			if err := r.eval(r.beta, 1); err != nil {
				return err
			}
			w = 1
		}
		if r.err <= tol && last && r.s.pass == kernelPass {
			if err := r.certify(); err != nil {
				return err
			}
		}
		switch {
		case r.err <= tol:
			r.status = Converged
			return nil
		case r.iter >= r.MaxIter:
			r.status = IterationLimit
			return r.exactRows(w)
		case best.stuck(r.err, r.s.noise()):
			if last && r.refine() {
				best = stagnation{}
				omega = relaxation{fixed: 1, omega: 1}
				continue
			}
			r.status = Stagnated
			return r.exactRows(w)
		}
		r.iter++
		r.s.sinkhorn(r.beta, w)
		omega.observe(r.err)
	}
}

// exactRows evaluates again where the last evaluation was relaxed, so that the plan returned has exact rows.
func (r *run) exactRows(w float64) error {
	if w == 1 {
		return nil
	}
	return r.eval(r.beta, 1)
}

// certify evaluates over every cost, in the log domain, where the last evaluation was not.
func (r *run) certify() error {
	if r.s.act == nil && r.s.pass != kernelPass {
		return nil
	}
	r.s.act, r.s.sparse = nil, false
	if r.s.pass == kernelPass {
		r.s.pass = fusedPass
	}
	return r.eval(r.beta, 1)
}

// refine moves to reduced costs, once, where costs are so large against ε that the potentials' rounding can be what
// holds the error up. It reports whether it did.
func (r *run) refine() bool {
	if _, done := r.s.g.(*reduced); done {
		return false
	}
	if c := r.s.cost; max(math.Abs(c.max), math.Abs(c.min), c.max-c.min) < 100*r.s.eps {
		return false
	}
	r.s.rebase(r.beta)
	return true
}

// finish returns the plan.
func (r *run) finish(solver string) *Plan {
	return r.s.finish(r.beta, &Plan{Status: r.status, Solver: solver, Iterations: r.iter, MarginalL1: r.err})
}

// stagnation tells when an error has stopped falling.
type stagnation struct {
	since int
	best  float64
	seen  bool
}

const (
	// patience is how many steps the best error may stand: L-BFGS on weakly coupled atoms rests for hundreds.
	patience = 1000
	// noisePatience is the same where the error is of the order of rounding.
	noisePatience = 60
)

// stuck notes err and reports whether the best has not been beaten for too long; noise is the order of rounding.
func (t *stagnation) stuck(err, noise float64) bool {
	if !t.seen || err < t.best {
		t.best, t.since, t.seen = err, 0, true
		return false
	}
	t.since++
	return t.since >= patience || t.since >= noisePatience && t.best < 100*noise
}

// relaxation chooses the over-relaxation ω. Plain Sinkhorn's error falls by a factor θ a step, the largest squared
// singular value of the plan between its marginals but for 1; the best ω is 2/(1+√(1−θ)) (Lehmann et al. 2022), which
// makes √ of the number of steps. θ is read off the errors of plain steps; an error that then grows ends it.
type relaxation struct {
	fixed  float64 // the user's ω; 0 is to be found
	omega  float64
	steps  int
	last   float64 // error of the last step
	theta  float64 // its ratio to the one before
	at     float64 // error when ω was set
	failed int
}

// observe notes the error of a step and updates omega.
func (o *relaxation) observe(err float64) {
	if o.fixed != 0 {
		o.omega = o.fixed
		return
	}
	o.steps++
	ratio := err / o.last
	o.last = err
	if o.omega > 1 {
		if err > 4*o.at || o.steps > 500 && ratio > 1 {
			*o = relaxation{omega: 1, last: err, failed: o.failed + 1}
		} else if o.steps%50 == 0 {
			o.at = err
		}
		return
	}
	// Plain steps: wait until the ratio settles, longer after each failure.
	if o.steps > 8<<o.failed && o.failed < 6 && math.Abs(ratio-o.theta) < 0.05*(1-o.theta) && ratio < 1 {
		o.omega = min(1.99, 2/(1+math.Sqrt(1-ratio)))
		o.at, o.steps = err, 0
	}
	o.theta = ratio
}
