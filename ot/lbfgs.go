package ot

import (
	"cmp"
	"context"
	"math"

	"coupling/ot/internal/linesearch"
)

// LBFGS solves by L-BFGS on the semi-dual, the forward pass of "Efficient, stable, and analytic
// differentiation of the Sinkhorn loss": the m target potentials are the variables, the source
// potentials follow exactly, and one evaluation is one fused pass over the costs. It is fast
// because of the metric ε/b, in which the first step is Sinkhorn's; ε-annealing with a loose inner
// tolerance; a line search on slopes alone, which suffices for a convex function and has no noise
// floor above that of the gradient; Sinkhorn steps, which ascend from any point, wherever a step
// fails; and a few Newton steps where atoms are so weakly coupled that L-BFGS would need thousands
// of its own.
//
// The zero value with Eps set works. Memory besides the costs: 2·Memory+64 vectors of m, and for a stored kernel up
// to n·m float32, and where Tol is below 1e-6 and the geometry holds its costs anyway, n·m float64.
type LBFGS struct {
	// Eps is the ε > 0 of the problem, in units of cost.
	Eps float64
	// Tol stops when the L1 error of the marginals is at most Tol; 0 is 1e-9.
	Tol float64
	// Memory is the number of past steps from which the Hessian is estimated; 0 is 20.
	Memory int
	Control
}

// From returns the solver that starts from the KL potentials g.
func (o LBFGS) From(g []float64) Solver {
	o.Start = g
	return o
}

// Solve returns the plan of p. A solve that did not reach Tol returns its plan with a Status that says so; errors are for bad
// input, and, with the plan so far, for a context that ended.
func (o LBFGS) Solve(ctx context.Context, p Problem) (*Plan, error) {
	q, err := o.begin(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := q.coarseStart(); err != nil {
		return q.finish("lbfgs", err)
	}
	return q.finish("lbfgs", q.anneal(q.stage))
}

// begin checks the input and sets up the first ε.
func (o LBFGS) begin(ctx context.Context, p Problem) (*quasiNewton, error) {
	if o.Memory < 0 {
		return nil, bad(ErrParameter, "Memory = %d: must be ≥ 0 (0 is 20)", o.Memory)
	}
	r, err := o.Control.begin(ctx, p, o.Eps, o.Tol)
	if err != nil {
		return nil, err
	}
	v := func() []float64 { return p.memory.Zeros(r.s.M) }
	return &quasiNewton{run: r, hist: newHistory(cmp.Or(o.Memory, 20), r.s.M, p.memory), dir: v(), grad: v(), next: v(), oldGrad: v(), least: v()}, nil
}

// quasiNewton is the L-BFGS state of one run.
type quasiNewton struct {
	*run
	hist          history
	dir, grad     []float64
	next, oldGrad []float64
	least         []float64 // β of the least error of the stage, since the last rescue
	asymmetric    bool      // symmetric steps did not converge
	contracts     bool      // the last Sinkhorn step reduced the error by more than contraction
	budget        int       // evaluations after which there are no more rescues; 0 before the first
	rescues       int       // how often Newton steps have been tried where L-BFGS was slow
	restarted     bool      // from the exact potentials
}

// stage minimises at the present ε until the error is at most tol.
func (q *quasiNewton) stage(tol float64, last bool) error {
	q.hist.start(q.s.B, q.s.Eps)
	q.s.WantLists(last)
	if err := q.residentSteps(tol, &relaxation{fixed: 1, omega: 1}, contraction); err != nil {
		return err
	}
	if err := q.eval(q.beta, 1); err != nil {
		return err
	}
	return q.descend(tol, last)
}

// descend is stage from a point that has been evaluated.
func (q *quasiNewton) descend(tol float64, last bool) error {
	best, slow := stagnation{}, pace{}
	for {
		if last && q.err <= tol {
			if err := q.certifyIfConverged(tol); err != nil {
				return err
			}
		}
		isStalled := best.stalled(q.err, q.s.Noise())
		if best.since == 0 {
			copy(q.least, q.beta)
		}
		isStalled = isStalled || last && q.err <= tol && !q.columnsConverged(tol)
		switch {
		case q.err <= tol && !isStalled:
			q.status = Converged
			return nil
		case q.iter >= q.MaxIter:
			q.status = IterationLimit
			return q.certify()
		case last && (isStalled || slow.slow(q.err, q.nearSolution()) && q.err < rescueRegion):
			again, err := q.rescue(tol, best.best)
			if err != nil {
				return err
			}
			if !again && isStalled {
				if q.status = Stagnated; q.err > tol {
					copy(q.beta, q.least)
					q.s.Uncertify()
				}
				return q.certify()
			}
			if slow = (pace{}); again {
				best = stagnation{}
			}
			continue
		case isStalled:
			return nil // the next ε may do better
		}
		q.iter++
		q.s.WantLists(last)
		if err := q.step(); err != nil {
			return err
		}
	}
}

// nearSolution reports an error below which one or two Newton steps by conjugate gradients solve
// the problem, as a rule. Elimination, for few targets, takes as long as many steps of L-BFGS, and so
// do the products of conjugate gradients for very many.
func (q *quasiNewton) nearSolution() bool {
	return q.err < nearError && q.s.M > denseNewton && q.s.N <= newtonDense/q.s.M
}

// rescue tries a remedy for stalled steps and reports whether there was one left: Newton steps
// resolve weakly coupled atoms, which L-BFGS does not; exact potentials leave regions where the
// slope is negligible; and reduced costs resolve less than the rounding of potentials, the only remedy where the least error
// so far is of the order of rounding.
func (q *quasiNewton) rescue(tol, least float64) (bool, error) {
	defer q.hist.clear()
	q.budget = cmp.Or(q.budget, rescueFactor*max(q.s.Evals, leastRescue))
	if q.s.Evals > q.budget {
		return false, nil
	}
	rounded := least > tol && least < nearNoise*q.s.Noise() // the error left is rounding, as a rule
	if !rounded && q.err > tol && (q.rescues < freeRescues || q.restarted && q.rescues < maxRescues) {
		q.rescues++
		return true, q.newtonPhase(tol)
	}
	if !rounded {
		if again, err := q.restart(); again || err != nil {
			return again, err
		}
	}
	if q.refine() {
		return true, q.eval(q.beta, 1)
	}
	return false, nil
}

// certifyIfConverged polishes the columns and certifies the plan if its L1 error is at most tol; as
// a rule its Status is then Converged.
func (q *quasiNewton) certifyIfConverged(tol float64) error {
	if !q.columnsConverged(tol) {
		if err := q.polishColumns(tol); err != nil {
			return err
		}
	}
	return q.certify()
}

// contraction is the ratio of errors after and before a Sinkhorn step below which the next step is
// Sinkhorn's too: atoms are then so closely coupled that L-BFGS with a few pairs is no better.
const contraction = 0.1

const (
	// After its first rescue a solve has rescueFactor times the evaluations before it, counted as
	// at least leastRescue.
	rescueFactor, leastRescue = 10, 500
	// rescueRegion is the L1 error below which a slow L-BFGS switches to Newton steps, freeRescues
	// how often it does so before it restarts from the exact potentials, and maxRescues how often
	// at most.
	rescueRegion = 0.1
	freeRescues  = 2
	maxRescues   = 10
	nearError    = 1e-4 // for nearSolution
)

// pace detects errors that fall too slowly.
type pace struct {
	steps      int
	best, last float64 // the best so far, and that at the last check
}

// slow notes err and checks now and then whether the best error has fallen enough since the last check: to a half in a
// hundred steps or, near the solution, where a Newton step may solve the problem, to a tenth in fifty.
func (p *pace) slow(err float64, near bool) bool {
	if p.steps == 0 || err < p.best {
		p.best = err
	}
	p.steps++
	every, enough := 100, 0.5
	if near {
		every, enough = 50, 0.1
	}
	if p.steps%every != 0 {
		return false
	}
	slow := p.last > 0 && p.best > enough*p.last
	p.last = p.best
	return slow
}

// step takes one L-BFGS step, or a Sinkhorn step where there is no history or the line search fails.
func (q *quasiNewton) step() error {
	s := q.s
	if s.Self && !q.asymmetric {
		return q.symmetricStep()
	}
	s.Gradient(q.grad)
	if q.hist.empty() || q.far() || q.contracts {
		return q.sinkhornStep()
	}
	q.hist.direction(q.dir, q.grad)
	slope := kern.Dot(q.dir, q.grad)
	if !(slope < 0) {
		q.hist.clear()
		return q.sinkhornStep()
	}
	copy(q.oldGrad, q.grad)
	ok, err := q.search(slope, q.firstStep())
	if err == nil && !ok {
		// The point is that of the line search's last trial; a Sinkhorn step ascends from any
		// point.
		q.hist.clear()
	}
	return err
}

// symmetricStep is for the transport of a measure to itself, whose potentials are equal: it moves g
// by ⅔ of f − g, f being the soft minimum of g. Where the kernel exp(−c/ε) is positive definite,
// the derivative of f by −g has its eigenvalues in [0, 1], so that the distance falls to a third in
// a step near the solution; if it does not fall, L-BFGS takes over.
func (q *quasiNewton) symmetricStep() error {
	s, before := q.s, q.err
	copy(q.next, q.beta)
	for j, b := range s.B {
		if b > 0 {
			q.beta[j] += 2. / 3 * (s.Alpha[j] - q.beta[j]) // ε log a = ε log b
		}
	}
	if err := q.eval(q.beta, 1); err != nil {
		return err
	}
	if q.err > symmetricContraction*before {
		q.asymmetric = true
		if q.err > before {
			copy(q.beta, q.next)
			return q.eval(q.beta, 1)
		}
	}
	return nil
}

// symmetricContraction is the ratio of successive errors above which symmetric steps stop.
const symmetricContraction = 0.8

// far reports whether column sums are so wrong that the gradient does not determine a step length.
func (q *quasiNewton) far() bool { return q.err > 0.5 }

// sinkhornStep takes a Sinkhorn step and records it in the history.
func (q *quasiNewton) sinkhornStep() error {
	copy(q.oldGrad, q.grad)
	copy(q.next, q.beta)
	before := q.err
	q.s.Sinkhorn(q.beta, 1)
	if err := q.eval(q.beta, 1); err != nil {
		return err
	}
	q.contracts = q.err < contraction*before
	q.learn()
	return nil
}

// learn records the step from q.next (the old point) to q.beta, with the old gradient in oldGrad.
func (q *quasiNewton) learn() {
	q.s.Gradient(q.grad)
	s, y := q.hist.slot()
	copy(s, q.beta)
	kern.Axpy(s, -1, q.next)
	copy(y, q.grad)
	kern.Axpy(y, -1, q.oldGrad)
	for _, j := range q.s.ZeroB { // −Inf − −Inf
		s[j] = 0
	}
	q.hist.keep()
}

// search moves along dir until the slope is at most nine tenths of its first size before the
// minimum, or half of it beyond: for a convex function that is descent. It reports false if a few
// trials do not suffice.
func (q *quasiNewton) search(slope, t float64) (bool, error) {
	copy(q.next, q.beta)
	bracket := linesearch.New(slope)
	for range 8 {
		copy(q.beta, q.next)
		kern.Axpy(q.beta, t, q.dir)
		if err := q.eval(q.beta, 1); err != nil {
			return false, err
		}
		q.s.Gradient(q.grad)
		at := kern.Dot(q.dir, q.grad)
		switch {
		case at > -0.5*slope:
			bracket.Beyond(t, at)
		case at < 0.9*slope:
			bracket.Before(t, at)
		default:
			q.learn()
			return true, nil
		}
		t = bracket.Next()
	}
	return false, nil
}

// maxMove is how far, in ε, the first trial of a line search moves a potential at most: beyond it the
// exponentials make the model unreliable.
const maxMove = 5

// firstStep is 1, or less where that would move a potential by more than maxMove.
func (q *quasiNewton) firstStep() float64 {
	return min(1, maxMove*q.s.Eps/largest(q.dir))
}

// largest returns max |v|.
func largest(v []float64) float64 {
	var out float64
	for _, x := range v {
		out = max(out, math.Abs(x))
	}
	return out
}
