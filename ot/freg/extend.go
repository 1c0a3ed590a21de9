package freg

import (
	"math"
)

// PhiAt extends φ to a new source with the given costs to the m targets: the generalised soft minimum, the root φ of
//
//	Σ_j b_j M_f((φ + ψ_j − c_j)/λ) = 1.
//
// At the sources of the plan it equals Phi up to rounding. Costs that are not finite give NaN.
func (p *Plan) PhiAt(cost []float64) float64 {
	mustLen("Plan.PhiAt", len(cost), len(p.B))
	return p.softmin(p.B, p.Psi, cost)
}

// PsiAt extends ψ to a new target with the given costs from the n sources: the root ψ of Σ_i a_i
// M_f((φ_i + ψ − c_i)/λ) = 1. At the targets of the plan it equals Psi up to MarginalL1.
func (p *Plan) PsiAt(cost []float64) float64 {
	mustLen("Plan.PsiAt", len(cost), len(p.A))
	return p.softmin(p.A, p.Phi, cost)
}

// softmin solves the row equation for weights w, some of which may be 0.
func (p *Plan) softmin(w, potential, cost []float64) float64 {
	var ws, ps, cs []float64
	for j, x := range w {
		if x > 0 {
			ws, ps, cs = append(ws, x), append(ps, potential[j]), append(cs, cost[j])
		}
		if cost[j]-cost[j] != 0 {
			return math.NaN()
		}
	}
	r := newRow(len(ws), 0)
	p.make(r, ws, ps, cs)
	return p.potential(r)
}

// make solves the row equation for positive weights.
func (p *Plan) make(r *row, w, potential, cost []float64) {
	r.load(p.s.f, p.Lambda, potential, cost)
	r.solve(p.s.f, w, 0)
}

// potential returns φ of the row that make solved last.
func (p *Plan) potential(r *row) float64 {
	_, offset := familyOf(p.F)
	return p.Lambda*(offset+r.x) - r.top
}

// zeroWeightPotentials fills the potentials of atoms without weight.
func (p *Plan) zeroWeightPotentials() {
	p.eachWeightless(func(r *row, i int) { p.Phi[i] = p.potential(r) })
	p.eachEmptyColumn(func(r *row, j int, _ []float64) { p.Psi[j] = p.potential(r) })
}

// eachWeightless makes the row of every source of weight 0, from Psi.
func (p *Plan) eachWeightless(f func(r *row, i int)) {
	in := p.s.instance
	if len(in.rows) == len(p.A) {
		return
	}
	r := newRow(len(in.b), len(p.B))
	psi := in.pack(p.Psi, make([]float64, len(in.b)))
	for i, a := range p.A {
		if a == 0 {
			p.make(r, in.b, psi, in.pack(p.Geometry.Row(i, r.full), r.pack))
			f(r, i)
		}
	}
}

// columnBlock is the number of columns read from the rows of a geometry at a time.
const columnBlock = 64

// eachEmptyColumn makes the column of every target of weight 0, from Phi, as a row against the
// sources; f receives its costs.
func (p *Plan) eachEmptyColumn(f func(r *row, j int, cost []float64)) {
	in := p.s.instance
	var empty []int
	for j, b := range p.B {
		if b == 0 {
			empty = append(empty, j)
		}
	}
	n := len(in.a)
	phi := make([]float64, n)
	for l, i := range in.rows {
		phi[l] = p.Phi[i]
	}
	r, buf := newRow(n, 0), make([]float64, len(p.B))
	for len(empty) > 0 {
		block := empty[:min(columnBlock, len(empty))]
		empty = empty[len(block):]
		costs := make([]float64, len(block)*n)
		for l, i := range in.rows {
			c := p.Geometry.Row(i, buf)
			for q, j := range block {
				costs[q*n+l] = c[j]
			}
		}
		for q, j := range block {
			c := costs[q*n : (q+1)*n]
			p.make(r, in.a, phi, c)
			f(r, j, c)
		}
	}
}
