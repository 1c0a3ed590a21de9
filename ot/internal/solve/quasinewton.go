package solve

import (
	"math"

	"coupling/ot/internal/linesearch"
	"coupling/ot/internal/semidual"
)

// quasiNewton is the L-BFGS state of one run.
type quasiNewton struct {
	*run
	hist          history
	dir, grad     []float64
	next, oldGrad []float64
	least         []float64 // β of the least error of the stage, since the last rescue
	asymmetric    bool      // symmetric steps did not converge
	contracts     bool      // the last Sinkhorn step reduced the error by more than contraction
	fixedPoint    func()    // what takes the place of Sinkhorn's step; nil for that
	bounds        bounds    // of the potentials; nil for none
	evened        bool      // the last step was Sinkhorn's because a column was off by more than columnRegion
	budget        int       // evaluations after which there are no more rescues; 0 before the first
	rescues       int       // how often Newton steps have been tried where L-BFGS was slow
	restarted     bool      // from the exact potentials
}

// bounds keep potentials within bounds.
type bounds interface {
	// clamp moves β into its bounds.
	clamp()
	// hold removes from a direction the moves of potentials that are best at their bounds.
	hold(dir, grad []float64)
}

// contraction is the ratio of errors after and before a Sinkhorn step below which the next step is
// Sinkhorn's too: atoms are then so closely coupled that L-BFGS with a few pairs is no better.
const contraction = 0.1

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
	if q.evened = !q.evened && s.MaxColumnLogError() > columnRegion; q.evened {
		return q.sinkhornStep()
	}
	q.hist.direction(q.dir, q.grad, q.beta, s)
	q.clipLight()
	if q.bounds != nil {
		q.bounds.hold(q.dir, q.grad)
	}
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
func (q *quasiNewton) far() bool {
	mass := q.s.Total
	if q.mass != nil {
		mass = max(mass, kern.Sum(q.mass))
	}
	return q.err*q.s.Total > 0.5*mass
}

// sinkhornStep takes a Sinkhorn step and records it in the history.
func (q *quasiNewton) sinkhornStep() error {
	copy(q.oldGrad, q.grad)
	copy(q.next, q.beta)
	before := q.err
	if q.fixedPoint != nil {
		q.fixedPoint()
	} else {
		q.s.Sinkhorn(q.beta, 1)
	}
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
		if q.bounds != nil {
			q.bounds.clamp()
		}
		if err := q.eval(q.beta, 1); err != nil {
			return false, err
		}
		q.s.Gradient(q.grad)
		at := kern.Dot(q.dir, q.grad)
		switch {
		case at < 0.9*slope:
			bracket.Before(t, at)
		case at <= -0.5*slope:
			q.learn()
			return true, nil
		default: // NaN too
			bracket.Beyond(t, at)
		}
		t = bracket.Next()
	}
	return false, nil
}

// maxMove is how far, in ε, the first trial of a line search moves a potential at most: beyond it the
// exponentials make the model unreliable. maxGridMove is that of a separable geometry, whose steps are smooth.
const maxMove, maxGridMove = 5, 20

// Slopes, and so L-BFGS, hardly depend on light atoms, but the first trial of a line search is as
// short as the atom that moves most requires. So light atoms do not decide it: they move by
// lightMove at most, and every other step is Sinkhorn's, which treats each column for itself, as
// long as one is off by more than columnRegion. Without that, weights over eight decades took eight
// times as many evaluations as equal ones; with it, less than twice as many.
const (
	// lightAtom is the part of the mean weight below which an atom is light.
	lightAtom = 3e-4
	// lightMove is how far, in ε, a light atom moves in the first trial, maxMove being how far others do.
	lightMove = 2
	// columnRegion is the |log (Tᵀ1)ⱼ/bⱼ| above which a Sinkhorn step comes first.
	columnRegion = 3
)

// clipLight bounds the moves of light atoms, by the mass that they are to get, relative to those of the others.
func (q *quasiNewton) clipLight() {
	want := q.s.Wanted()
	light, others := lightAtom/float64(q.s.M)*kern.Sum(want), 0.0
	for j, v := range q.dir {
		if want[j] >= light {
			others = max(others, math.Abs(v))
		}
	}
	limit := lightMove * max(q.s.Eps, others/maxMove)
	for j, v := range q.dir {
		if want[j] < light {
			q.dir[j] = max(-limit, min(limit, v))
		}
	}
}

// firstStep is 1, or less where that would move a potential by more than maxMove.
func (q *quasiNewton) firstStep() float64 {
	move := maxMove
	if semidual.Separate(q.s.G) != nil {
		move = maxGridMove
	}
	return min(1, float64(move)*q.s.Eps/largest(q.dir))
}

// largest returns max |v|.
func largest(v []float64) float64 {
	var out float64
	for _, x := range v {
		out = max(out, math.Abs(x))
	}
	return out
}
