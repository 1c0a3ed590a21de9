package ot

import (
	"context"
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
	q, err := LBFGS(o).quasiNewton(ctx, p)
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
