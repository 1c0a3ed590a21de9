package ot

import (
	"cmp"
	"math"

	"coupling/ot/internal/derivative"
	"coupling/ot/internal/simplex"
)

// newtonPhase takes Newton steps until the error is at most tol or they no longer reduce it.
func (q *quasiNewton) newtonPhase(tol float64) error {
	fails := 0
	done := func() bool { return q.err <= tol || fails == 4 }
	return q.eachNewton(q.s.M <= denseNewton, done, func(h *derivative.Hessian) error {
		before := q.err
		if err := q.newtonStep(h); err != nil || q.err < 0.9*before {
			return err
		}
		fails++
		if fails == 4 && !h.Dense && q.s.M <= denseRescue {
			h.Dense, fails = true, 0
		}
		return nil
	})
}

// eachNewton takes steps until done, each with a list of the entries of T that form the Hessian.
func (q *quasiNewton) eachNewton(dense bool, done func() bool, step func(h *derivative.Hessian) error) error {
	s := q.s
	end, ok := s.ListForNewton(s.N <= newtonDense/s.M)
	if !ok {
		return nil
	}
	defer end()
	h := derivative.NewHessian(s.N, s.M, s.Memory)
	h.Dense = dense
	for q.iter < q.MaxIter && !done() {
		if s.List() == nil {
			if err := q.eval(q.beta, 1); err != nil {
				return err
			}
			if s.List() == nil {
				return nil // too many entries
			}
		}
		q.iter++
		if err := step(h); err != nil {
			return err
		}
	}
	return nil
}

const (
	// newtonDense is the largest n·m for which a plan without negligible entries is held, in 12
	// bytes an entry.
	newtonDense = 1 << 24
	// denseNewton is the number of targets up to which Newton systems are solved by elimination: it
	// is as fast as conjugate gradients there, and exact however weakly the atoms are coupled.
	denseNewton = 256
	// denseRescue is the number of targets up to which elimination is tried where conjugate
	// gradients stall.
	denseRescue = 1024
)

// newtonStep moves along the Newton direction, or by a Sinkhorn step where that does not descend.
func (q *quasiNewton) newtonStep(h *derivative.Hessian) error {
	s := q.s
	s.Gradient(q.grad)
	if h.Dense {
		h.Assemble(s, 0)
		if err := h.SolveDense(q.ctx, q.dir, q.grad, s); err != nil {
			return err
		}
	} else {
		h.Assemble(s, min(1e-5, 1e-3*q.err))
		if err := h.Solve(q.ctx, q.dir, q.grad, s.Eps, max(1e-6, min(0.02, q.err)), q.tol); err != nil {
			return err
		}
	}
	slope := kern.Dot(q.dir, q.grad)
	if !(slope < 0) {
		return q.sinkhornStep()
	}
	copy(q.oldGrad, q.grad)
	ok, err := q.search(slope, 1)
	if err == nil && !ok {
		s.Gradient(q.grad)
		err = q.sinkhornStep()
	}
	return err
}

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

// nearSolution reports an error below which one or two Newton steps by conjugate gradients solve
// the problem, as a rule. Elimination, for few targets, takes as long as many steps of L-BFGS, and so
// do the products of conjugate gradients for very many.
func (q *quasiNewton) nearSolution() bool {
	return q.err < nearError && q.s.M > denseNewton && q.s.N <= newtonDense/q.s.M
}

// rescue tries a remedy for stalled steps and reports whether there was one left: Newton steps
// resolve weakly coupled atoms, which L-BFGS does not; exact potentials leave regions where the
// slope is negligible; and reduced costs resolve less than the rounding of potentials, the only
// remedy where the least error so far is of the order of rounding.
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

// restart moves, once, to the potentials of unregularised transport, and reports whether it did.
// Where costs span many thousands of ε and weights many powers of ten, the potentials of small
// atoms have far to move, but those atoms contribute almost nothing to the L1 error and to the
// slope. The simplex method counts masses exactly, so it resolves every atom; its potentials are
// within a few ε of the solution.
func (q *quasiNewton) restart() (bool, error) {
	s := q.s
	if q.restarted || s.N > maxRestart/s.M {
		return false, nil
	}
	q.restarted = true
	sol, err := simplex.Solve(q.ctx, s.A, s.B, s.G, 0, func(int, int, float64) {})
	if q.ctx.Err() != nil {
		return false, q.ctx.Err()
	}
	if err != nil {
		return false, nil //nolint:nilerr // the simplex method cannot represent the masses or costs; the solve goes on as before
	}
	copy(q.beta, s.Start(sol.G))
	q.hist.clear()
	s.Invalidate()
	return true, q.eval(q.beta, 1)
}
