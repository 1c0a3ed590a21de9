package ot

import (
	"context"

	"coupling/ot/internal/solve"
)

// LBFGS solves by L-BFGS on the semi-dual, the forward pass of "Efficient, stable, and analytic
// differentiation of the Sinkhorn loss": the m target potentials are the variables, the source
// potentials follow exactly, and one evaluation is one fused pass over the costs. It is fast
// because of the metric ε/max(b, Tᵀ1), in which the first step is near Sinkhorn's; ε-annealing with a loose inner
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

// Solve returns the plan of p. A solve that did not reach Tol returns its plan with a Status that
// says so; errors are for bad input, and, with the plan so far, for a context that ended.
func (o LBFGS) Solve(ctx context.Context, p Problem) (*Plan, error) {
	r, err := solve.LBFGS(ctx, p.driver(), o.driver(o.Eps, o.Tol), o.Memory)
	return p.plan("lbfgs", r), err
}

// Solve returns the plan of p at ε by LBFGS, to an L1 marginal error of 1e-9.
func Solve(ctx context.Context, p Problem, eps float64) (*Plan, error) {
	return LBFGS{Eps: eps}.Solve(ctx, p)
}
