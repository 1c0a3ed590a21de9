package ot

import (
	"context"

	"coupling/ot/internal/solve"
)

// Sinkhorn solves by alternate scaling in the log domain (Cuturi 2013; Schmitzer 2019), stable at
// every ε. One iteration is one fused pass over the costs with one exponential for each, which
// makes the rows exact and sums the columns. ε is annealed, and the last stage is over-relaxed
// (Thibault et al. 2021; Lehmann et al. 2022).
//
// The zero value with Eps set works. LBFGS is faster at small ε. Memory besides the costs is that of LBFGS for
// a stored kernel.
type Sinkhorn struct {
	// Eps is the ε > 0 of the problem, in units of cost, and Tol stops when the L1 error of the
	// marginals is at most Tol; 0 is 1e-9.
	Eps, Tol float64
	// Relax in [1, 2) is the over-relaxation; 1 is plain Sinkhorn, and 0 chooses it from the observed rate.
	Relax float64
	Control
}

// From returns the solver that starts from the KL potentials g.
func (o Sinkhorn) From(g []float64) Solver {
	o.Start = g
	return o
}

// Solve returns the plan of p. A solve that did not reach Tol returns its plan with a Status that
// says so; errors are for bad input, and, with the plan so far, for a context that ended.
func (o Sinkhorn) Solve(ctx context.Context, p Problem) (*Plan, error) {
	r, err := solve.Sinkhorn(ctx, p.driver(), o.driver(o.Eps, o.Tol), o.Relax)
	return p.plan("sinkhorn", r), err
}
