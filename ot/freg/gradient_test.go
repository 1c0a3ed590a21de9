package freg_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/fdiv"
	"coupling/ot/freg"
)

// central is the central difference of the optimal value for a change h of a problem. Steps of 1e-4 leave h² = 1e-8
// relative and 1e-15/h = 1e-11.
func central(t *testing.T, s freg.Solver, h float64, at func(h float64) ot.Problem) float64 {
	t.Helper()
	return (solve(t, s, at(h)).Dual - solve(t, s, at(-h)).Dual) / (2 * h)
}

// The plan is the gradient of the value with respect to the costs.
func TestGradient(t *testing.T) {
	p, mean := clouds(20, 7, 6, 2)
	for _, d := range fdiv.All() {
		for _, rel := range []float64{1, 0.2} {
			s := freg.Solver{F: d, Lambda: rel * mean, Tol: 1e-12}
			plan := solve(t, s, p)
			c := ot.Cost(p.Geometry)
			const h, tol = 1e-4, 1e-6
			grad := plan.Matrix()
			for _, e := range [][2]int{{0, 0}, {3, 2}, {6, 5}} {
				i, j := e[0], e[1]
				fd := central(t, s, h, func(h float64) ot.Problem {
					moved := mat.DenseCopyOf(c)
					moved.Set(i, j, c.At(i, j)+h)
					return ot.Problem{Geometry: ot.Dense(moved), A: p.A, B: p.B}
				})
				if math.Abs(fd-grad.At(i, j)) > tol {
					t.Errorf("%v, λ = %g mean: ∂/∂c[%d,%d] = %g, by differences %g", d, rel, i, j, grad.At(i, j), fd)
				}
			}
		}
	}
}

// Costs that are no numbers have no potential, and a target that is forbidden is as one that is not there.
func TestExtendBeyondCosts(t *testing.T) {
	c := mat.NewDense(3, 2, []float64{0, 1, 1, 0, 2, 3})
	for _, d := range fdiv.All() {
		plan := solve(t, freg.Solver{F: d, Lambda: 1}, ot.Problem{Geometry: ot.Dense(c)})
		for _, bad := range [][]float64{{1, math.NaN()}, {1, math.Inf(-1)}} {
			if v := plan.PhiAt(bad); !math.IsNaN(v) {
				t.Errorf("%v: PhiAt(%v) = %g, want NaN", d, bad, v)
			}
		}
		if v := plan.PhiAt([]float64{math.Inf(1), math.Inf(1)}); !math.IsInf(v, 1) {
			t.Errorf("%v: PhiAt without a target is %g", d, v)
		}
		phi := plan.PhiAt([]float64{1, math.Inf(1)})
		if s := plan.F.Compatibility((phi+plan.Psi[0]-1)/plan.Lambda) / 2; math.Abs(s-1) > 1e-12 {
			t.Errorf("%v: Σ b M = %g with one target left", d, s)
		}
	}
}
