package freg

import (
	"cmp"
	"context"
	"math"
	"time"

	"coupling/ot"
	"coupling/ot/fdiv"
)

// Solver solves
//
//	min ⟨T,c⟩ + λ D_f(T‖a⊗b)  over T ≥ 0, T1 = a, Tᵀ1 = b
//
// by Newton's method on the semi-dual, see the documentation of the package. The zero value with Lambda set works, and
// regularises by KL. A cost of +Inf forbids a pair.
type Solver struct {
	// F is the divergence.
	F fdiv.Divergence
	// Lambda is the λ > 0 of the problem, in units of cost. Costs may span up to 1e14 λ.
	Lambda float64
	// Tol stops when the L1 error of the marginals is at most Tol; 0 is 1e-9. See Plan.Status for the gap.
	Tol float64
	// MaxIter is the largest number of Newton steps; 0 is 1000.
	MaxIter int
	// Start holds potentials of the m targets to start from (another plan's Psi, exact transport's G).
	Start []float64
	// Workers is the number of goroutines; 0 is GOMAXPROCS. The result does not depend on it.
	Workers int
	// Trace, where not nil, is called after every evaluation, from the goroutine that called Solve; Eps is λ.
	Trace func(ot.Step)
}

const (
	defaultTol     = 1e-9
	defaultMaxIter = 1000
	// maxSpan is the range of the costs, in units of λ, up to which reduced costs resolve the plan: beyond 1e15 a
	// potential in float64 is coarser than λ.
	maxSpan = 1e14
)

// Solve returns the plan of p. Errors are for bad input, of the kinds of package ot, and for a
// context that ended; a solve that did not reach Tol returns its plan with a Status that says so.
//
// Cost: exact transport once, for a start, where λ is below the spread of the costs; then 3 to 20
// Newton steps as a rule. Each is one to three passes over the costs, with a few evaluations of M_f
// an entry, and a linear system in m unknowns. Memory: the n×m Hessian factor K, its zeros and
// negligible entries left out, and 16 m² bytes for m ≤ 2048.
func (o Solver) Solve(ctx context.Context, p ot.Problem) (*Plan, error) {
	begun := time.Now()
	in, err := o.check(p)
	if err != nil {
		return nil, err
	}
	o.Tol = cmp.Or(o.Tol, defaultTol)
	o.MaxIter = cmp.Or(o.MaxIter, defaultMaxIter)
	r := newRun(ctx, o, in, begun)
	err = r.run()
	if err == nil && in.cost.Forbidden && r.status != ot.Converged {
		_, err = r.exact() // which says where there is no plan
	}
	if err != nil {
		return nil, err
	}
	return r.finish(), nil
}

// check validates the parameters and the problem.
func (o Solver) check(p ot.Problem) (*instance, error) {
	if err := o.F.Check(); err != nil {
		return nil, bad(ot.ErrParameter, "F: %v", err)
	}
	if !(o.Lambda >= 1/largest && o.Lambda <= largest) {
		return nil, bad(ot.ErrParameter, "Lambda = %g: must be > 0, from %g to %g", o.Lambda, 1/largest, largest)
	}
	if !(o.Tol >= 0) || math.IsInf(o.Tol, 1) {
		return nil, bad(ot.ErrParameter, "Tol = %g: must be finite and ≥ 0 (0 is %g)", o.Tol, defaultTol)
	}
	if o.MaxIter < 0 {
		return nil, bad(ot.ErrParameter, "MaxIter = %d: must be ≥ 0 (0 is %d)", o.MaxIter, defaultMaxIter)
	}
	in, err := check(p, o.Workers)
	if err != nil {
		return nil, err
	}
	if in.cost.Forbidden && math.IsInf(o.F.F(0), 1) {
		return nil, bad(ot.ErrInfeasible,
			"F = %v has f(0) = +Inf: no plan leaves out the pairs that a cost of +Inf forbids", o.F)
	}
	if span := (in.cost.Max - in.cost.Min) / o.Lambda; span > maxSpan {
		return nil, bad(ot.ErrParameter, "Lambda = %g: the costs span %g λ, more than %g: use exact transport",
			o.Lambda, span, maxSpan)
	}
	if o.Start == nil {
		return in, nil
	}
	if m := len(in.full.b); len(o.Start) != m {
		return nil, bad(ot.ErrShape, "Start has %d potentials for %d targets", len(o.Start), m)
	}
	for j, v := range o.Start {
		if !(math.Abs(v) <= largest) {
			return nil, bad(ot.ErrParameter, "Start[%d] = %g: must be at most %g in size", j, v, largest)
		}
	}
	return in, nil
}
