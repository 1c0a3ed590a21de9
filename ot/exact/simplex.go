package exact

import (
	"context"
	"fmt"
	"math"

	"coupling/ot"
	"coupling/ot/internal/fault"
	"coupling/ot/internal/simplex"
)

// Simplex solves the transportation problem by the network simplex method, or an assignment by shortest
// augmenting paths. The zero value works.
//
// Time is some n² for n = m in practice, a few passes over the costs and n^2.2 pivots; memory is O(n + m)
// beside the cost.
type Simplex struct {
	// MaxPivots stops early with a feasible plan, feasible potentials and Status PivotLimit; 0
	// means no limit. The method ends without a limit, since no basis occurs twice.
	MaxPivots int
}

// Status says how a solve ended.
type Status int

const (
	// Unsolved is the status of the zero Plan.
	Unsolved Status = iota
	// Optimal means that no arc has a negative reduced cost beyond the rounding of its terms.
	Optimal
	// PivotLimit means that MaxPivots was reached: look at the Certificate.
	PivotLimit
)

// String returns the name of the status.
func (s Status) String() string {
	return fault.Name("Status", int(s), "unsolved", "optimal", "pivot limit")
}

// Solve returns an optimal plan of p, where a cost of +Inf forbids a pair. Weights keep their
// totals, which must agree to 1e-9; nil is uniform of total 1. It returns an error that wraps one
// of package ot, ErrUnbalanced where totals differ, ot.ErrInfeasible where more than 1e-9 of the
// mass must use forbidden pairs, another error where MaxPivots was reached before that is known,
// and the context's error when cancelled.
func (s Simplex) Solve(ctx context.Context, p ot.Problem) (*Plan, error) {
	out := &Plan{Geometry: p.Geometry, Status: Optimal}
	r, err := simplex.Solve(ctx, p.A, p.B, p.Geometry, s.MaxPivots, func(i, j int, w float64) {
		if out.Arcs == nil {
			out.Arcs = make([]Arc, 0, max(p.Geometry.Dims()))
		}
		out.Arcs = append(out.Arcs, Arc{i, j, w})
	})
	if err != nil {
		return nil, err
	}
	sortArcs(out.Arcs)
	out.A, out.B, out.F, out.G, out.Pivots = r.A, r.B, r.F, r.G, r.Pivots
	if r.Limited {
		out.Status = PivotLimit
	}
	if out.Certificate, err = certify(ctx, p.Geometry, out.A, out.B, out.Arcs, out.F, out.G); err != nil {
		return nil, err
	}
	return out.valued()
}

// weights returns those of p, uniform ones where they are nil.
func weights(p ot.Problem) (a, b []float64, err error) {
	n, m := p.Geometry.Dims()
	if a, err = simplex.Weights("a", p.A, n); err == nil {
		b, err = simplex.Weights("b", p.B, m)
	}
	return a, b, err
}

// inRange refuses a value that left the range of float64.
func inRange(c Certificate) error {
	if v := c.Primal + c.Dual + c.Gap; math.IsInf(v, 0) || math.IsNaN(v) {
		return fmt.Errorf("ot/exact: value = %v with costs and weights this large: %w", c.Primal, ot.ErrCost)
	}
	return nil
}
