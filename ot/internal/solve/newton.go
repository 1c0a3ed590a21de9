package solve

import (
	"context"

	"coupling/ot/internal/derivative"
)

// Newton solves by Newton steps at the last ε, with a memory of so many L-BFGS steps for what is before and after.
func Newton(ctx context.Context, p Problem, c Control, memory int) (*Result, error) {
	q, err := beginLBFGS(ctx, p, c, memory)
	if err != nil {
		return nil, err
	}
	return q.finish(q.anneal(q.newtonStage))
}

// newtonRegion is the L1 error below which Newton steps are taken. On the timing problems,
// newtonRadius cuts most steps above it short, and L-BFGS converges faster there.
const newtonRegion = 3e-3

// newtonStage is quasiNewton.stage with Newton steps at the last ε.
func (q *quasiNewton) newtonStage(tol float64, last bool) error {
	if !last {
		return q.stage(tol, false)
	}
	if err := q.stage(max(tol, newtonRegion), false); err != nil {
		return err
	}
	if err := q.newtonPhase(tol); err != nil {
		return err
	}
	// L-BFGS does the rest: as a rule only the full pass that certifies the plan.
	q.hist.clear()
	return q.descend(tol, true)
}

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
		if err := h.Solve(q.ctx, q.dir, q.grad, s.Eps, max(1e-6, min(0.02, q.err)), q.Tol); err != nil {
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
