package ot

import (
	"context"

	"coupling/ot/internal/derivative"
)

// Newton solves by truncated Newton steps on the semi-dual, for small ε, where T is nearly sparse,
// and for small Tol: the Hessian D/ε, D = Diag(Tᵀ1) − Tᵀ Diag(1/a) T, is formed from the entries of
// T that are not negligible, and conjugate gradients compute each step to a precision that follows
// the error. Where T is not sparse, or a step fails, L-BFGS and Sinkhorn steps take over. (Compare
// SSNS and SPLR of regOT: Tang and Qiu 2024; Wang et al. 2025.)
//
// The zero value with Eps set works. Memory: 12 bytes for each entry of T that is not negligible;
// where these are more than 1.6e7 and more than a fifth of all, every step is an L-BFGS step. The
// fields are those of LBFGS.
type Newton LBFGS

// newtonRegion is the L1 error below which Newton steps are taken. On the timing problems,
// newtonRadius cuts most steps above it short, and L-BFGS converges faster there.
const newtonRegion = 3e-3

// From returns the solver that starts from the KL potentials g.
func (o Newton) From(g []float64) Solver {
	o.Start = g
	return o
}

// Solve returns the plan of p, as LBFGS.Solve does.
func (o Newton) Solve(ctx context.Context, p Problem) (*Plan, error) {
	q, err := LBFGS(o).begin(ctx, p)
	if err != nil {
		return nil, err
	}
	return q.finish("newton", q.anneal(q.newtonStage))
}

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
