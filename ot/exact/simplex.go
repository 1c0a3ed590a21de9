package exact

import (
	"context"
	"fmt"
	"math"

	"coupling/ot/cost"
	"coupling/ot/internal/fault"
	"coupling/ot/internal/simplex"
)

// Simplex solves the transportation problem by the network simplex method. The zero value works.
//
// Time is some n^2.4 for n = m in practice; memory is O(n + m) beside the cost.
type Simplex struct {
	// MaxPivots stops early with a feasible plan, feasible potentials and Status PivotLimit; 0
	// means no limit. The method ends without a limit, since no basis occurs twice.
	MaxPivots int
}

// Status says how a solve ended.
type Status int

const (
	// Unsolved is the status of a Solution that no solver made.
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

// A Solution is a plan with the potentials that prove it.
type Solution struct {
	Plan   Plan
	Value  float64   // ⟨T, C⟩
	F, G   []float64 // potentials of sources and targets, ⟨a,F⟩ = ⟨b,G⟩, F_i + G_j ≤ C_ij up to Certificate.Infeasibility
	Status Status
	Pivots int // 0 from Line

	Certificate Certificate
}

// Solve transports a to b (nil for uniform weights) at the given cost, where +Inf forbids a pair. It returns an error that wraps
// ErrShape, ErrWeights, ErrUnbalanced or ErrCost for a problem that is none, ErrInfeasible where more than 1e-9 of the mass must
// use forbidden pairs, another error where MaxPivots was reached before that is known, and the context's error when cancelled.
func (s Simplex) Solve(ctx context.Context, a, b []float64, c cost.Geometry) (*Solution, error) {
	n, m := c.Dims()
	sol := &Solution{Plan: Plan{Rows: n, Cols: m}, Status: Optimal}
	r, err := simplex.Solve(ctx, a, b, c, s.MaxPivots, func(i, j int, w float64) { sol.Plan.Arcs = append(sol.Plan.Arcs, Arc{i, j, w}) })
	if err != nil {
		return nil, err
	}
	sol.Plan.sort()
	if sol.F, sol.G, sol.Pivots = r.F, r.G, r.Pivots; r.Limited {
		sol.Status = PivotLimit
	}
	if a, err = simplex.Weights("a", a, n); err != nil {
		return nil, err
	}
	if b, err = simplex.Weights("b", b, m); err != nil {
		return nil, err
	}
	centre(a, b, sol.F, sol.G)
	if sol.Certificate, err = Certify(ctx, a, b, c, sol.Plan, sol.F, sol.G); err != nil {
		return nil, err
	}
	sol.Value = sol.Certificate.Primal
	return sol, inRange(sol.Certificate)
}

// centre shifts a constant from f to g so that ⟨a, f⟩ = ⟨b, g⟩, both measures scaled to total 1.
func centre(a, b, f, g []float64) {
	shift := (mean(a, f) - mean(b, g)) / 2
	for i := range f {
		f[i] -= shift
	}
	for j := range g {
		g[j] += shift
	}
}

// mean returns Σ w_k v_k / Σ w_k.
func mean(w, v []float64) float64 {
	var sum, total simplex.Wide
	for k, x := range w {
		sum, total = sum.Add(x*v[k]), total.Add(x)
	}
	return sum.Hi / total.Hi
}

// inRange refuses a value that left the range of float64.
func inRange(c Certificate) error {
	if v := c.Primal + c.Dual + c.Gap; math.IsInf(v, 0) || math.IsNaN(v) {
		return fmt.Errorf("ot/exact: value = %v with costs and weights this large: %w", c.Primal, ErrCost)
	}
	return nil
}
