package semidual

import (
	"math"

	"coupling/ot/cost"
	"coupling/ot/internal/geometry"
	"coupling/ot/internal/rows"
)

// ReducedCosts is a geometry with the costs c_ij − u_i − v_j of potentials u, v, rounded once. Where
// costs are many orders of magnitude above ε, float64 potentials are too coarse for the marginals:
// 1e6 has a unit in the last place of 1e-10. Pairs that carry mass have small costs in the reduced
// geometry, and its potentials are small too.
type ReducedCosts struct {
	of   cost.Geometry
	u, v []float64       // nil where only by is subtracted
	by   float64         // a constant whose difference from every cost is exact
	list geometry.Listed // the costs of the pairs that of lists; nil where it does not
}

// CentreCosts subtracts the least cost from all where costs are a constant with small differences:
// the plan is the same, and potentials need not hold the constant. Such differences are exact
// (Sterbenz). It returns what it subtracted.
func (s *Function) CentreCosts() float64 {
	c := &s.Cost
	by := c.Min
	if s.dev != nil || s.grid.Separable != nil || math.Abs(by) <= 2*(c.Max-by) {
		return 0
	}
	r := &ReducedCosts{of: s.G, by: by}
	r.relist()
	s.G = r
	s.setGeometry(s.G)
	c.Min, c.Max, c.Mean = 0, c.Max-by, c.Mean-by
	return by
}

// Rebased reports whether costs are less potentials.
func (s *Function) Rebased() bool {
	g, ok := s.G.(*ReducedCosts)
	return ok && g.u != nil
}

// Underneath is the geometry before the subtraction.
func Underneath(g cost.Geometry) cost.Geometry {
	if r, ok := g.(*ReducedCosts); ok {
		return r.of
	}
	return g
}

// isFrugal reports whether a geometry asks for little memory.
func isFrugal(g cost.Geometry) bool {
	f, ok := Underneath(g).(cost.Frugal)
	return ok && f.Frugal()
}

// isQuick reports whether a geometry computes exponentials as fast as memory delivers costs.
func isQuick(g cost.Geometry) bool {
	f, ok := Underneath(g).(interface{ Quick() bool })
	return ok && f.Quick()
}

// Rebase makes the present potentials the base of the costs and restarts from β = 0.
func (s *Function) Rebase(beta []float64) {
	r := &ReducedCosts{of: s.G, u: make([]float64, s.N), v: make([]float64, s.M)}
	if old, ok := s.G.(*ReducedCosts); ok {
		r.of = old.of
		old.AddBase(r.u, r.v)
	}
	next := &ReducedCosts{of: r.of, u: make([]float64, s.N), v: make([]float64, s.M)}
	for i, x := range s.Alpha {
		if s.A[i] > 0 {
			next.u[i] = r.u[i] + x
		}
	}
	for j, x := range beta {
		if s.B[j] > 0 {
			next.v[j] = r.v[j] + x
			beta[j] = 0
		}
	}
	next.relist()
	s.G = next
	s.setGeometry(s.G)
	s.Invalidate()
	clear(s.shift)
}

// Dims returns the number of sources and of targets.
func (r *ReducedCosts) Dims() (n, m int) { return r.of.Dims() }

// Row fills buf with c_ij − u_i − v_j; the errors of both subtractions are kept (Knuth's two-sum) and added at the end.
func (r *ReducedCosts) Row(i int, buf []float64) []float64 {
	if r.u == nil {
		copy(buf, r.of.Row(i, buf))
		rows.Subtract(buf, r.by)
		return buf
	}
	c := r.of.Row(i, buf)
	rows.Reduce(buf, c, r.u[i], r.v)
	return buf[:len(c)]
}

// AddBase turns potentials of the reduced costs into potentials of the costs.
func (r *ReducedCosts) AddBase(alpha, beta []float64) {
	if r.u == nil {
		rows.Shift(alpha, r.by)
		return
	}
	for i := range alpha {
		alpha[i] += r.u[i]
	}
	for j := range beta {
		beta[j] += r.v[j]
	}
}

// Source is the amount that was subtracted from the costs of source i.
func (r *ReducedCosts) Source(i int) float64 {
	if r.u == nil {
		return r.by
	}
	return r.u[i]
}
