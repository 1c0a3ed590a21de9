package ot

import "math"

// An L1 error of 1e-9 says nothing about a target of weight 1e-11: its column may be empty, and its potential anything.
// The plan hardly notices. Potentials, which are the derivatives with respect to the weights, do, and so does the dual
// value once a potential is out by 1/weight. So a solve is not over before every column is near its weight.

// columnTol is how far from its weight, relatively, a column may be at the end of a solve to tol: potentials are then right
// to about ε√tol where atoms are well coupled. It asks for more than tol only of weights far below √tol.
func columnTol(tol float64) float64 { return math.Sqrt(tol) }

// maxColumnLogError returns the largest |log (Tᵀ1)ⱼ/bⱼ| over the columns. Those of weight up to columnUnderflow are left out:
// they get the potentials of a vanishing weight.
func (s *semidual) maxColumnLogError() float64 {
	var worst float64
	for j, b := range s.b {
		if b > columnUnderflow {
			worst = max(worst, math.Abs(math.Log(s.col[j])-s.logB[j]))
		}
	}
	return worst
}

// columnsConverged reports whether the last evaluation ends a solve to tol.
func (r *run) columnsConverged(tol float64) bool {
	return r.err <= tol && r.s.maxColumnLogError() <= columnTol(tol)
}

// merit is the error of the last evaluation, for telling progress: below tol, what the columns are off decides.
func (r *run) merit(tol float64) float64 {
	if r.err > tol {
		return r.err
	}
	off := r.s.maxColumnLogError()
	if math.IsInf(off, 1) {
		return tol
	}
	return tol * off / (1 + off)
}

const (
	// polishSinkhorn is how many Sinkhorn steps are tried before Newton's. Measured on problems of 20 atoms, half of them
	// of weights to 1e-12: four do for all but one in thirty.
	polishSinkhorn = 4
	// polishLong is how many there are at most where there are too many atoms for Newton's.
	polishLong = 200
	// polishNewton is how many Newton steps are taken: on the same problems, with weights to 1e-40, six at most did.
	polishNewton = 40
)

// polishColumns gets the columns right that an L1 error of at most tol left off. Sinkhorn steps look at each column
// by itself and make no L1 error larger; where small weights are coupled to each other more than to anything
// else, it takes Newton's, whose elimination sees every link however small.
func (q *quasiNewton) polishColumns(tol float64) error {
	newton := q.s.m <= denseRescue
	most := polishLong
	if newton {
		most = polishSinkhorn
	}
	for ; most > 0 && q.iter < q.MaxIter && !q.columnsConverged(tol); most-- {
		q.iter++
		q.s.sinkhorn(q.beta, 1)
		if err := q.eval(q.beta, 1); err != nil {
			return err
		}
	}
	if !newton {
		return nil
	}
	left := polishNewton
	done := func() bool { return left == 0 || q.columnsConverged(tol) }
	return q.eachNewton(true, done, func(h *hessian) error {
		left--
		return q.newtonPolish(h)
	})
}

// newtonPolish is a Newton step without a search: the slopes that a search goes by do not see small columns either.
// Where it makes the worst column worse, it becomes a Sinkhorn step.
func (q *quasiNewton) newtonPolish(h *hessian) error {
	s := q.s
	before, off := q.err, s.maxColumnLogError()
	copy(q.next, q.beta)
	s.gradient(q.grad)
	h.assemble(s, 0)
	if err := h.solveDense(q.ctx, q.dir, q.grad, s); err != nil {
		return err
	}
	axpy(q.beta, q.dir, 1)
	if err := q.eval(q.beta, 1); err != nil {
		return err
	}
	if q.err <= 2*before && s.maxColumnLogError() < off {
		return nil
	}
	copy(q.beta, q.next)
	if err := q.eval(q.beta, 1); err != nil {
		return err
	}
	s.sinkhorn(q.beta, 1)
	return q.eval(q.beta, 1)
}
