package transport

import (
	"math"

	"coupling/ot/internal/geometry"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
)

// expect returns Σⱼ T_ij (v_j + c_ij)/Σⱼ T_ij for every source i, or for every target where transposed, c left
// out unless withCost.
func (p *Plan) expect(v []float64, transposed, withCost bool) []float64 {
	from := p.Beta
	if transposed {
		from = p.Alpha
	}
	h := make([]float64, len(from))
	kern.Scale(h, 1/p.Eps, from)
	_, mean := geometry.Expect(semidual.Separate(p.Geometry).Axes(transposed), h, v, 1/p.Eps, withCost, 0)
	return mean
}

// weighted returns w∘v.
func weighted(w, v []float64) []float64 {
	out := make([]float64, len(v))
	kern.Mul(out, w, v)
	return out
}

// columns returns Tᵀ1 of a separable geometry.
func (p *Plan) columns() []float64 {
	h, col := make([]float64, len(p.A)), make([]float64, len(p.B))
	kern.Scale(h, 1/p.Eps, p.Alpha)
	lse, _ := geometry.Expect(semidual.Separate(p.Geometry).Axes(true), h, nil, 1/p.Eps, false, 0)
	for j, b := range p.Beta {
		if p.B[j] > 0 {
			col[j] = math.Exp(b/p.Eps + lse[j])
		}
	}
	return col
}

// gridSums is Sums along the axes of a separable geometry.
func (p *Plan) gridSums() (v Sums) {
	col := p.columns()
	v.Sharp = rows.Dot(p.Mass, p.expect(make([]float64, len(p.B)), false, true))
	v.Mass = rows.Dot(p.Mass, Ones(len(p.A)))
	return p.logSums(v, p.Mass, col)
}
