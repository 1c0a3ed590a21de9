package ot

import (
	"coupling/ot/cost"
	"coupling/ot/internal/semidual"
	"coupling/ot/internal/solve"
)

// Problem is a transport problem between the measures Σ aᵢ δ(xᵢ) and Σ bⱼ δ(yⱼ).
//
// Nil weights are uniform. Weights need not sum to one: they are divided by their sum, so that every plan has mass 1
// and every value is per unit of mass; but A and B, where both are given, must have the same total to 1 part in 10⁵
// (enough for weights that were normalised in float32). Zero weights are allowed and cost nothing,
// and weights below 1e-280 of the total count as zero.
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
func (p Problem) Weights() (a, b []float64, err error) { return p.driver().Weights() }

// driver is the problem as drivers take it.
func (p Problem) driver() solve.Problem {
	return solve.Problem{Geometry: p.Geometry, A: p.A, B: p.B, Memory: p.memory}
}
