package ot

import (
	"math"

	"coupling/ot/cost"
	"coupling/ot/internal/geometry"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
)

// Problem is a transport problem between the measures Σ aᵢ δ(xᵢ) and Σ bⱼ δ(yⱼ).
//
// Nil weights are uniform. Weights need not sum to one: they are divided by their sum, so that every plan has mass 1
// and every value is per unit of mass; but A and B, where both are given, must have the same total to 1 part in 10⁵
// (enough for weights that were normalised in float32). Zero weights are allowed and cost nothing.
type Problem struct {
	// Geometry holds the costs, n×m. A cost of +Inf forbids its pair: no mass moves there. If every
	// plan needs such pairs, solvers return ErrInfeasible; with n·m above 1e6 they detect it only
	// for an atom without any allowed pair, and otherwise the Status says that the solve did not
	// converge.
	Geometry cost.Geometry
	// A holds the n source weights and B the m target weights; nil is uniform.
	A, B []float64

	memory *semidual.Memory // of an Objective; nil for none
}

// Weights returns the weights as solvers use them, divided by their sums, uniform for nil, or the
// error that solvers return.
func (p Problem) Weights() (a, b []float64, err error) {
	a, b, sa, sb, err := p.weights()
	if err != nil {
		return nil, nil, err
	}
	return a, b, p.balanced(sa, sb)
}

// balanced reports totals that differ.
func (p Problem) balanced(sa, sb float64) error {
	if p.A != nil && p.B != nil && math.Abs(sa-sb) > rows.MassTolerance*max(sa, sb) {
		return bad(ErrWeights, "Problem.B sums to %g and Problem.A to %g: must be equal "+
			"(unbalanced transport: ot.Unbalanced)", sb, sa)
	}
	return nil
}

// symmetric reports whether the problem couples a measure with itself.
func (p Problem) symmetric() bool {
	g, ok := p.Geometry.(cost.Symmetric)
	same := len(p.A) == len(p.B) && (len(p.A) == 0 || &p.A[0] == &p.B[0])
	return ok && same && g.Symmetric()
}

// check validates p and normalises its weights; one pass over the costs, without exponentials.
func (p Problem) check(workers int) (*semidual.Instance, error) {
	a, b, sa, sb, err := p.weights()
	if err != nil {
		return nil, err
	}
	if err := p.balanced(sa, sb); err != nil {
		return nil, err
	}
	in := &semidual.Instance{
		G:      within(p.Geometry),
		N:      len(a),
		M:      len(b),
		A:      a,
		B:      b,
		Self:   p.symmetric(),
		Memory: p.memory,
	}
	return in, in.Scan(workers)
}

// within is the geometry as the engine knows it. What embeds a geometry may have rows of its own, and is left as it is.
func within(g cost.Geometry) cost.Geometry {
	switch g := g.(type) {
	case interface{ engine() cost.Geometry }:
		return g.engine()
	case *cost.Cloud:
		return g.Points()
	}
	return g
}

// weights returns both weights divided by their totals, and the totals.
func (p Problem) weights() (a, b []float64, sa, sb float64, err error) {
	if err := geometry.Check("Problem.Geometry", p.Geometry); err != nil {
		return nil, nil, 0, 0, err
	}
	n, m := p.Geometry.Dims()
	if a, sa, err = rows.Weights(p.memory.Floats(n), "Problem.A", p.A, "sources", bad); err == nil {
		b, sb, err = rows.Weights(p.memory.Floats(m), "Problem.B", p.B, "targets", bad)
	}
	return a, b, sa, sb, err
}
