package ot

import (
	"context"

	"coupling/ot/internal/solve"
)

// Scaling solves by kernel scaling (Cuturi 2013): products with exp(−c/ε), no exponentials in the
// loop, at large ε; LBFGS needs fewer passes there too. If the costs span more than 300 ε it returns ErrUnsupported:
// there plain scaling loses entries of the kernel to underflow, and its result may be wrong. Steps
// are over-relaxed as Sinkhorn's are, and the plan returned is checked by a pass in the log domain.
//
// The zero value with Eps set works. Memory: n·m float64 besides the costs, at most 1 GiB.
type Scaling struct {
	// Eps is the ε > 0 of the problem, in units of cost, and Tol stops when the L1 error of the
	// marginals is at most Tol; 0 is 1e-9.
	Eps, Tol float64
	// Relax in [1, 2) is the over-relaxation; 1 is plain scaling, and 0 chooses it from the observed rate.
	Relax float64
	Control
}

// From returns the solver that starts from the KL potentials g.
func (o Scaling) From(g []float64) Solver {
	o.Start = g
	return o
}

// Solve returns the plan of p. Errors are for bad input, for a kernel that would underflow and for
// a context that ended.
func (o Scaling) Solve(ctx context.Context, p Problem) (*Plan, error) {
	r, err := solve.Scaling(ctx, p.driver(), o.driver(o.Eps, o.Tol), o.Relax)
	return p.plan("scaling", r), err
}
