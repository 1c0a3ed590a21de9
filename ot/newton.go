package ot

import "context"

// Newton solves by truncated Newton steps on the semi-dual, for small ε, where T is nearly sparse,
// and for small Tol: the Hessian D/ε, D = Diag(Tᵀ1) − Tᵀ Diag(1/a) T, is formed from the entries of
// T that are not negligible, and conjugate gradients compute each step to a precision that follows
// the error. Where T is not sparse, or a step fails, L-BFGS and Sinkhorn steps take over. (Compare
// SSNS and SPLR of regOT: Tang and Qiu 2024; Wang et al. 2025.)
//
// The zero value with Eps set works. Memory: 12 bytes for each entry of T that is not negligible;
// where these are more than 1.6e7 and more than a fifth of all, every step is an L-BFGS step.
type Newton struct {
	// Eps is the ε > 0 of the problem, in units of cost.
	Eps float64
	// Tol stops when the L1 error of the marginals is at most Tol; 0 is 1e-9.
	Tol float64
	// MaxIter is the largest number of steps; 0 is 100,000.
	MaxIter int
	// Anneal in (0, 1] is the factor from one ε to the next, down to Eps from the spread of the costs; 1 is no
	// annealing, and 0 is ¼ for an Eps below 4 % of the spread, else 1.
	Anneal float64
	// Start holds KL potentials g of the m targets to start from (another plan's G); where they are good, annealing is skipped.
	Start []float64
	// Workers is the number of goroutines; 0 is GOMAXPROCS. The result does not depend on it.
	Workers int
	// Trace, where not nil, is called after every evaluation, from the goroutine that called Solve. An error ends the solve.
	Trace func(Step) error
}

// newtonRegion is the L1 error below which Newton steps are taken. On the timing problems,
// newtonRadius cuts most steps above it short, and L-BFGS converges faster there.
const newtonRegion = 3e-3

// newtonRadius is how far log T may rise in a step above the value at which T is all of its row or
// column, so that small entries may rise by more; beyond it the quadratic model of the exponentials
// is unreliable. Conjugate gradients resolve the stiff directions first, so stopping at the radius
// (Steihaug 1983) bounds the relative move of blocks of atoms that hardly exchange mass.
const newtonRadius = 3

// From returns the solver that starts from the KL potentials g.
func (o Newton) From(g []float64) Solver {
	o.Start = g
	return o
}

// Solve returns the plan of p. A solve that did not reach Tol returns its plan with a Status that says so; errors are for bad
// input, and, with the plan so far, for a context that ended.
func (o Newton) Solve(ctx context.Context, p Problem) (*Plan, error) {
	r, err := controls(o).begin(ctx, p)
	if err != nil {
		return nil, err
	}
	q := newQuasiNewton(r, 20)
	return r.finish("newton", r.anneal(q.newtonStage))
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
	return q.eachNewton(q.s.m <= denseNewton, done, func(h *hessian) error {
		before := q.err
		if err := q.newtonStep(h); err != nil || q.err < 0.9*before {
			return err
		}
		fails++
		if fails == 4 && !h.dense && q.s.m <= denseRescue {
			h.dense, fails = true, 0
		}
		return nil
	})
}

// eachNewton takes steps until done, each with a list of the entries of T that form the Hessian.
func (q *quasiNewton) eachNewton(dense bool, done func() bool, step func(h *hessian) error) error {
	s := q.s
	if s.dev != nil && s.n > maxDeviceNewton/s.m {
		return nil
	}
	s.act = nil
	defer s.listForNewton(s.n <= newtonDense/s.m)()
	h := newHessian(s.n, s.m)
	h.dense = dense
	for q.iter < q.MaxIter && !done() {
		if s.act == nil || s.act.eps != s.eps {
			if err := q.eval(q.beta, 1); err != nil {
				return err
			}
			if s.act == nil {
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
func (q *quasiNewton) newtonStep(h *hessian) error {
	s := q.s
	s.gradient(q.grad)
	if h.dense {
		h.assemble(s, 0)
		if err := h.solveDense(q.ctx, q.dir, q.grad, s); err != nil {
			return err
		}
	} else {
		h.assemble(s, min(1e-5, 1e-3*q.err))
		if err := h.solve(q.ctx, q.dir, q.grad, s.eps, max(1e-6, min(0.02, q.err))); err != nil {
			return err
		}
	}
	slope := dot(q.dir, q.grad)
	if !(slope < 0) {
		return q.sinkhornStep()
	}
	copy(q.oldGrad, q.grad)
	ok, err := q.search(slope, 1)
	if err == nil && !ok {
		s.gradient(q.grad)
		err = q.sinkhornStep()
	}
	return err
}
