package ot

import (
	"context"

	"coupling/ot/internal/solve"
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

// From returns the solver that starts from the KL potentials g.
func (o Newton) From(g []float64) Solver {
	o.Start = g
	return o
}

// Solve returns the plan of p, as LBFGS.Solve does.
func (o Newton) Solve(ctx context.Context, p Problem) (*Plan, error) {
	r, err := solve.Newton(ctx, p.driver(), o.driver(o.Eps, o.Tol), o.Memory)
	return p.plan("newton", r), err
}
