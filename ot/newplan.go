package ot

import (
	"gonum.org/v1/gonum/mat"

	"coupling/ot/cost"
	"coupling/ot/internal/geometry"
	"coupling/ot/internal/solve"
)

// NewPlan returns the plan of p at ε that has the KL potentials g of the m targets (within 1e14 ε of
// each other), for solvers outside this package: its rows sum to A for every g, and MarginalL1 is the L1 deviation
// of its columns from B. The solver fills Status (Converged asks something of each column, too, which
// ApplyT of ones gives), Solver, Iterations and, if it counts them, Evaluations. Cost: two passes.
func NewPlan(p Problem, eps float64, g []float64) (*Plan, error) {
	r, err := solve.Potentials(p.driver(), eps, g)
	return p.plan("", r), err
}

// At returns the plan from new sources, the rows of z (k×d), of equal weights, with the potentials
// of this plan's targets: its F holds the potentials at z, its Barycentric is where each row of z
// goes on average, its Matrix is their conditional distributions over k, and Sample draws from
// them. The geometry must be one of points, and the plan balanced.
func (p *Plan) At(z *mat.Dense) (*Plan, error) {
	c, err := p.cloud()
	if err != nil {
		return nil, err
	}
	return p.extend(MatrixFree(z, c.Y(), c.Kind), p.B, p.G)
}

// AtTargets is At for new targets: the plan from the rows of z, of equal weights, to this plan's sources.
func (p *Plan) AtTargets(z *mat.Dense) (*Plan, error) {
	c, err := p.cloud()
	if err != nil {
		return nil, err
	}
	return p.extend(MatrixFree(z, c.X(), geometry.Reversed(c.Kind)), p.A, p.F)
}

func (p *Plan) extend(g *cost.Cloud, b, potential []float64) (*Plan, error) {
	if p.penalties != nil {
		return nil, bad(ErrUnsupported, "extension of an unbalanced plan: only balanced plans are extended")
	}
	r, err := solve.Extend(g, p.Eps, b, potential)
	return Problem{Geometry: g}.plan(p.Solver, r), err
}
