package solve

import (
	"math"

	"coupling/ot/internal/derivative"
)

// An L1 error of 1e-9 says nothing about a target of weight 1e-11: its column may be empty, and its
// potential arbitrary. The plan hardly changes. The potentials, which are the derivatives with
// respect to the weights, are wrong, and so is the dual value once a potential is off by 1/weight.
// So a solve does not end before every column is near its weight.

// columnTol is the largest relative deviation of a column from its weight at the end of a solve to
// tol: potentials are then right to about ε√tol where atoms are well coupled. It is stricter than
// tol only for weights far below √tol.
func columnTol(tol float64) float64 { return math.Sqrt(tol) }

// columnsConverged reports whether the last evaluation ends a solve to tol: its L1 error is at most
// tol and every column is near its weight.
func (r *run) columnsConverged(tol float64) bool {
	return r.err <= tol && r.s.MaxColumnLogError() <= columnTol(tol)
}

// merit is the error of the last evaluation by which progress is judged: below tol it is the
// deviation of the columns.
func (r *run) merit(tol float64) float64 {
	if r.err > tol {
		return r.err
	}
	off := r.s.MaxColumnLogError()
	if math.IsInf(off, 1) {
		return tol
	}
	return tol * off / (1 + off)
}

const (
	// polishSinkhorn is the number of Sinkhorn steps tried before Newton steps. On problems of 20
	// atoms, half of them with weights down to 1e-12, four suffice for all but one problem in
	// thirty.
	polishSinkhorn = 4
	// polishLong is the largest number of Sinkhorn steps where there are too many atoms for Newton
	// steps.
	polishLong = 200
	// polishNewton is the largest number of Newton steps: on the same problems, with weights down
	// to 1e-40, six sufficed.
	polishNewton = 40
)

// polishColumns corrects the columns of small weight, which an L1 error of at most tol leaves
// wrong. Sinkhorn steps treat each column separately and never raise the L1 error. Where small
// weights are coupled to each other more than to any other atom, it takes Newton steps, whose
// elimination resolves every coupling however weak.
func (q *quasiNewton) polishColumns(tol float64) error {
	newton := q.s.M <= denseRescue
	most := polishLong
	if newton {
		most = polishSinkhorn
	}
	for ; most > 0 && q.iter < q.MaxIter && !q.columnsConverged(tol); most-- {
		q.iter++
		q.s.Sinkhorn(q.beta, 1)
		if err := q.eval(q.beta, 1); err != nil {
			return err
		}
	}
	if !newton {
		return nil
	}
	left := polishNewton
	done := func() bool { return left == 0 || q.columnsConverged(tol) }
	return q.eachNewton(true, done, func(h *derivative.Hessian) error {
		left--
		return q.newtonPolish(h)
	})
}

// newtonPolish is a Newton step without a line search, since the slopes of a line search do not
// depend on small columns either. If it makes the worst column worse, a Sinkhorn step replaces it.
func (q *quasiNewton) newtonPolish(h *derivative.Hessian) error {
	s := q.s
	before, off := q.err, s.MaxColumnLogError()
	copy(q.next, q.beta)
	s.Gradient(q.grad)
	h.Assemble(s, 0)
	if err := h.SolveDense(q.ctx, q.dir, q.grad, s); err != nil {
		return err
	}
	kern.Axpy(q.beta, 1, q.dir)
	if err := q.eval(q.beta, 1); err != nil {
		return err
	}
	if q.err <= 2*before && s.MaxColumnLogError() < off {
		return nil
	}
	copy(q.beta, q.next)
	if err := q.eval(q.beta, 1); err != nil {
		return err
	}
	s.Sinkhorn(q.beta, 1)
	return q.eval(q.beta, 1)
}
