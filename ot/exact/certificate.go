package exact

import (
	"context"
	"fmt"
	"math"
	"slices"

	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/simplex"
)

// A Certificate bounds how far a plan T and potentials f, g are from optimal. It is computed from
// them and the cost alone, so that it does not depend on the solver that found them.
type Certificate struct {
	// Primal is ⟨T, C⟩ and Dual is ⟨a, f⟩ + ⟨b, g⟩.
	Primal, Dual float64
	// Gap is Σ T_ij (C_ij − f_i − g_j), which is Primal − Dual where the marginals are exact, without its cancellation.
	Gap float64
	// Infeasibility is max_ij (f_i + g_j − C_ij)₊, the largest violation of a constraint of the
	// dual.
	Infeasibility float64
	// Slackness is max |C_ij − f_i − g_j| over the arcs of the plan.
	Slackness float64
	// Marginal is Σ_i |T1 − a|_i + Σ_j |Tᵀ1 − b|_j, b rescaled to the total of a.
	Marginal float64
	// Mass is the total mass.
	Mass float64
}

// Bound returns how much Primal can exceed the optimal value: lowering every f_i by Infeasibility
// makes the potentials feasible, and by weak duality the remaining difference of Primal and Dual
// bounds the excess.
func (c Certificate) Bound() float64 { return math.Max(0, c.Gap+c.Infeasibility*c.Mass) }

// Certify checks a plan, as arcs, and potentials for a problem on every entry of the cost. It costs
// one pass over the cost.
func Certify(ctx context.Context, p ot.Problem, arcs []Arc, f, g []float64) (Certificate, error) {
	if err := cost.Check(p.Geometry); err != nil {
		return Certificate{}, err
	}
	a, b, err := weights(p)
	if err != nil {
		return Certificate{}, err
	}
	n, m := len(a), len(b)
	switch outside := func(e Arc) bool { return e.I < 0 || e.I >= n || e.J < 0 || e.J >= m }; {
	case len(f) != n:
		return Certificate{}, fmt.Errorf("ot/exact: len(f) = %d, want %d: %w", len(f), n, ot.ErrShape)
	case len(g) != m:
		return Certificate{}, fmt.Errorf("ot/exact: len(g) = %d, want %d: %w", len(g), m, ot.ErrShape)
	case slices.ContainsFunc(arcs, outside):
		return Certificate{}, fmt.Errorf("ot/exact: an arc is not one of %d×%d: %w", n, m, ot.ErrShape)
	}
	return certify(ctx, p.Geometry, a, b, arcs, f, g)
}

// certify is Certify for a checked problem.
func certify(ctx context.Context, c cost.Geometry, a, b []float64, arcs []Arc, f, g []float64) (Certificate, error) {
	worst := 0.
	var buf []float64
	listed, _ := c.(cost.Listed)
	if listed == nil {
		buf = make([]float64, len(b))
	}
	for i := range a {
		if err := simplex.Cancelled(ctx, i); err != nil {
			return Certificate{}, err
		}
		if listed != nil {
			to, costs := listed.Arcs(i)
			worst = max(worst, f[i]-simplex.Least(to, costs, g, f[i]))
		} else {
			worst = max(worst, simplex.Violation(c.Row(i, buf), f[i], g))
		}
	}
	var row []float64
	at := -1
	out := check(a, b, arcs, f, g, func(i, j int) float64 {
		if listed != nil {
			to, costs := listed.Arcs(i)
			if k, ok := slices.BinarySearch(to, int32(j)); ok {
				return costs[k]
			}
			return math.Inf(1)
		}
		if i != at {
			row, at = c.Row(i, buf), i
		}
		return row[j]
	})
	out.Infeasibility = worst
	return out, nil
}

// check fills all of a certificate but Infeasibility, looking at the arcs only.
func check(a, b []float64, arcs []Arc, f, g []float64, cost func(i, j int) float64) Certificate {
	var c Certificate
	var primal, gap simplex.Wide
	var totalA, totalB rows.Sum
	for _, e := range arcs {
		v := cost(e.I, e.J)
		slack := v - f[e.I] - g[e.J]
		primal, gap = primal.Add(e.Mass*v), gap.Add(e.Mass*slack)
		c.Slackness = max(c.Slackness, math.Abs(slack))
	}
	for _, w := range a {
		totalA.Add(w)
	}
	for _, w := range b {
		totalB.Add(w)
	}
	c.Primal, c.Gap, c.Mass = primal.Hi, gap.Hi, totalA.Value()
	scale := c.Mass / totalB.Value()
	c.Dual = rows.Dot(a, f) + scale*rows.Dot(b, g)
	ta, tb := marginals(arcs, len(a), len(b))
	for i, w := range ta {
		c.Marginal += math.Abs(w - a[i])
	}
	for j, w := range tb {
		c.Marginal += math.Abs(w - scale*b[j])
	}
	return c
}
