package ot

import (
	"math"

	"coupling/ot/cost"
	"coupling/ot/internal/rows"
)

// reducedCosts is a geometry with the costs c_ij − u_i − v_j of potentials u, v, rounded once. Where
// costs are many orders of magnitude above ε, float64 potentials are too coarse for the marginals:
// 1e6 has a unit in the last place of 1e-10. Pairs that carry mass have small costs in the reduced
// geometry, and its potentials are small too.
type reducedCosts struct {
	of   cost.Geometry
	u, v []float64 // nil where only by is subtracted
	by   float64   // a constant whose difference from every cost is exact
}

// centreCosts subtracts the least cost from all where costs are a constant with small differences: the plan is the same, and
// potentials need not hold the constant. Such differences are exact (Sterbenz). It returns what it subtracted.
func (s *semidual) centreCosts() float64 {
	c := &s.cost
	by := c.Min
	if s.dev != nil || math.Abs(by) <= 2*(c.Max-by) {
		return 0
	}
	s.g = &reducedCosts{of: s.g, by: by}
	s.setNarrow(s.g)
	c.Min, c.Max, c.Mean = 0, c.Max-by, c.Mean-by
	return by
}

// rebased reports whether costs are less potentials.
func (s *semidual) rebased() bool {
	g, ok := s.g.(*reducedCosts)
	return ok && g.u != nil
}

// underneath is the geometry before the subtraction.
func underneath(g cost.Geometry) cost.Geometry {
	if r, ok := g.(*reducedCosts); ok {
		return r.of
	}
	return g
}

// isFrugal reports whether a geometry asks for little memory.
func isFrugal(g cost.Geometry) bool {
	f, ok := underneath(g).(cost.Frugal)
	return ok && f.Frugal()
}

// isQuick reports whether a geometry computes exponentials as fast as memory delivers costs.
func isQuick(g cost.Geometry) bool {
	f, ok := underneath(g).(interface{ Quick() bool })
	return ok && f.Quick()
}

// rebase makes the present potentials the base of the costs and restarts from β = 0.
func (s *semidual) rebase(beta []float64) {
	r := &reducedCosts{of: s.g, u: make([]float64, s.n), v: make([]float64, s.m)}
	if old, ok := s.g.(*reducedCosts); ok {
		r.of = old.of
		old.addBase(r.u, r.v)
	}
	next := &reducedCosts{of: r.of, u: make([]float64, s.n), v: make([]float64, s.m)}
	for i, x := range s.alpha {
		if s.a[i] > 0 {
			next.u[i] = r.u[i] + x
		}
	}
	for j, x := range beta {
		if s.b[j] > 0 {
			next.v[j] = r.v[j] + x
			beta[j] = 0
		}
	}
	s.g = next
	s.setNarrow(s.g)
	s.invalidate()
	s.shiftEps = 0
}

// Dims returns the number of sources and of targets.
func (r *reducedCosts) Dims() (n, m int) { return r.of.Dims() }

// Row fills buf with c_ij − u_i − v_j; the errors of both subtractions are kept (Knuth's two-sum) and added at the end.
func (r *reducedCosts) Row(i int, buf []float64) []float64 {
	if r.u == nil {
		copy(buf, r.of.Row(i, buf))
		rows.Subtract(buf, r.by)
		return buf
	}
	c := r.of.Row(i, buf)
	rows.Reduce(buf, c, r.u[i], r.v)
	return buf[:len(c)]
}

// addBase turns potentials of the reduced costs into potentials of the costs.
func (r *reducedCosts) addBase(alpha, beta []float64) {
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

// source is the amount that was subtracted from the costs of source i.
func (r *reducedCosts) source(i int) float64 {
	if r.u == nil {
		return r.by
	}
	return r.u[i]
}
