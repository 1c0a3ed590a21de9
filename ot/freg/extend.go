package freg

import (
	"math"
	"slices"
)

// PhiAt extends φ to a new source with the given costs to the m targets: the generalised soft minimum, the root φ of
//
//	Σ_j b_j M_f((φ + ψ_j − c_j)/λ) = 1.
//
// At the sources of the plan it is Phi, up to rounding. A cost of +Inf leaves its target out,
// and φ is +Inf where all are left out; other costs that are not finite give NaN.
func (p *Plan) PhiAt(cost []float64) float64 {
	mustLen("Plan.PhiAt", len(cost), len(p.B))
	return p.softmin(p.B, p.Psi, cost)
}

// PsiAt extends ψ to a new target with the given costs from the n sources: the root ψ of
// Σ_i a_i M_f((φ_i + ψ − c_i)/λ) = 1. At the targets of the plan it is Psi, up to MarginalL1. Costs are as in PhiAt.
func (p *Plan) PsiAt(cost []float64) float64 {
	mustLen("Plan.PsiAt", len(cost), len(p.A))
	return p.softmin(p.A, p.Phi, cost)
}

// softmin solves the row equation for weights w, some of which may be 0.
func (p *Plan) softmin(w, potential, cost []float64) float64 {
	var ws, ps, cs []float64
	for j, x := range w {
		switch c := cost[j]; {
		case math.IsNaN(c) || math.IsInf(c, -1):
			return math.NaN()
		case x > 0 && !math.IsInf(c, 1):
			ws, ps, cs = append(ws, x), append(ps, potential[j]), append(cs, c)
		}
	}
	if ws == nil {
		return math.Inf(1)
	}
	f, offset := familyOf(p.F)
	r := newRow(len(ws), 0)
	r.load(f, p.Lambda, ps, cs)
	r.solve(f, ws, 0)
	return p.Lambda*(offset+r.x) - r.top
}

// zeroWeightPotentials fills the potentials of atoms without weight.
func (p *Plan) zeroWeightPotentials() {
	buf := make([]float64, len(p.B))
	for i, a := range p.A {
		if a == 0 {
			p.Phi[i] = p.PhiAt(p.Geometry.Row(i, buf))
		}
	}
	var empty []int
	for j, b := range p.B {
		if b == 0 {
			empty = append(empty, j)
		}
	}
	row := func(i int) []float64 { return p.Geometry.Row(i, buf) }
	eachColumn(len(p.A), empty, row, func(j int, cost []float64) { p.Psi[j] = p.PsiAt(cost) })
}

// columnBlock is the number of columns that are read from the rows of a geometry at a time.
const columnBlock = 64

// eachColumn calls f with some columns of a cost of n rows.
func eachColumn(n int, columns []int, row func(i int) []float64, f func(j int, cost []float64)) {
	costs := make([]float64, min(columnBlock, len(columns))*n)
	for block := range slices.Chunk(columns, columnBlock) {
		for i := range n {
			c := row(i)
			for q, j := range block {
				costs[q*n+i] = c[j]
			}
		}
		for q, j := range block {
			f(j, costs[q*n:(q+1)*n])
		}
	}
}
