package ot

import (
	"context"

	"coupling/ot/internal/geometry"
)

// kernelSpan is the range of the costs in units of ε up to which Scaling works. Scalings then lie within e^±300 of each
// other, and no product of them with the kernel under- or overflows.
const kernelSpan = 300

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
	if err := checkRelax(o.Relax); err != nil {
		return nil, err
	}
	if o.Anneal != 0 && o.Anneal != 1 {
		return nil, bad(ErrParameter, "Scaling: Anneal = %g: must be 0 or 1, there is no annealing", o.Anneal)
	}
	o.Anneal = 1
	r, err := o.Control.begin(ctx, p, o.Eps, o.Tol)
	if err != nil {
		return nil, err
	}
	if n, m := r.s.N, r.s.M; n > geometry.MaxHeld/m {
		return nil, bad(ErrParameter, "Scaling: a kernel of %d×%d exceeds 1 GiB: use LBFGS", n, m)
	}
	if r.s.Cost.Max-r.s.Cost.Min > kernelSpan*r.s.Eps {
		return nil, bad(ErrUnsupported, "Scaling: Eps = %g: the costs span %g ε, more than %d: use LBFGS", o.Eps,
			(r.s.Cost.Max-r.s.Cost.Min)/o.Eps, kernelSpan)
	}
	r.s.AlwaysStore()
	r.s.StartStage(r.tol)
	return r.finish("scaling", r.sinkhornStage(r.tol, o.Relax, true))
}
