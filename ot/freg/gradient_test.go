package freg_test

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/fdiv"
	"coupling/ot/freg"
	"coupling/ot/internal/rows"
)

// central is the central difference of the optimal value for a change h of a problem. Steps of 1e-4 leave h² = 1e-8
// relative and 1e-15/h = 1e-11.
func central(t *testing.T, s freg.Solver, h float64, at func(h float64) ot.Problem) float64 {
	t.Helper()
	return (solve(t, s, at(h)).Dual - solve(t, s, at(-h)).Dual) / (2 * h)
}

// The gradients are those of the value.
func TestGradients(t *testing.T) {
	p, mean := clouds(20, 7, 6, 2)
	pc := p.Geometry.(*ot.PointCloud)
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
			gx, err := plan.GradX()
			if err != nil {
				t.Fatal(err)
			}
			gy, err := plan.GradY()
			if err != nil {
				t.Fatal(err)
			}
			for k := range 2 {
				fx := central(t, s, h, func(h float64) ot.Problem {
					x := mat.DenseCopyOf(pc.X())
					x.Set(1, k, x.At(1, k)+h)
					return ot.Problem{Geometry: ot.Points(x, pc.Y(), pc.Kind), A: p.A, B: p.B}
				})
				fy := central(t, s, h, func(h float64) ot.Problem {
					y := mat.DenseCopyOf(pc.Y())
					y.Set(4, k, y.At(4, k)+h)
					return ot.Problem{Geometry: ot.Points(pc.X(), y, pc.Kind), A: p.A, B: p.B}
				})
				if math.Abs(fx-gx.At(1, k)) > tol || math.Abs(fy-gy.At(4, k)) > tol {
					t.Errorf("%v, λ = %g mean: ∂/∂x = %g, ∂/∂y = %g, by differences %g, %g", d, rel, gx.At(1, k), gy.At(4, k), fx, fy)
				}
			}
			da, db := plan.GradWeights()
			move := func(w []float64, from, to int, h float64) []float64 {
				out := append([]float64(nil), w...)
				out[from] -= h
				out[to] += h
				return out
			}
			fa := central(t, s, h, func(h float64) ot.Problem {
				return ot.Problem{Geometry: p.Geometry, A: move(p.A, 0, 5, h), B: p.B}
			})
			fb := central(t, s, h, func(h float64) ot.Problem {
				return ot.Problem{Geometry: p.Geometry, A: p.A, B: move(p.B, 1, 3, h)}
			})
			if math.Abs(fa-(da[5]-da[0])) > tol*mean || math.Abs(fb-(db[3]-db[1])) > tol*mean {
				t.Errorf("%v, λ = %g mean: weights %g, %g, by differences %g, %g", d, rel, da[5]-da[0], db[3]-db[1], fa, fb)
			}
			if math.Abs(rows.Dot(plan.A, da)-plan.Dual/2) > 1e-12*mean || math.Abs(rows.Dot(plan.B, db)-plan.Dual/2) > 1e-12*mean {
				t.Errorf("%v: ⟨a,∂a⟩ = %g, ⟨b,∂b⟩ = %g, want half of %g", d, rows.Dot(plan.A, da), rows.Dot(plan.B, db), plan.Dual)
			}
		}
	}
}

// Where a weight is 0 the derivative is one-sided.
func TestGradientOfNoWeight(t *testing.T) {
	p, mean := clouds(21, 6, 5, 2)
	p.A[2], p.B[4] = 0, 0
	p.A, p.B = scaled(p.A, 1/sum(p.A)), scaled(p.B, 1/sum(p.B))
	for _, d := range fdiv.All() {
		s := freg.Solver{F: d, Lambda: mean / 3, Tol: 1e-12}
		plan := solve(t, s, p)
		da, db := plan.GradWeights()
		for _, side := range []string{"a", "b"} {
			const h = 1e-6
			q, slope := p, da[2]-da[0]
			if side == "a" {
				q.A = append([]float64(nil), p.A...)
				q.A[2], q.A[0] = h, q.A[0]-h
			} else {
				q.B = append([]float64(nil), p.B...)
				q.B[4], q.B[0] = h, q.B[0]-h
				slope = db[4] - db[0]
			}
			fd := (solve(t, s, q).Dual - plan.Dual) / h
			if math.Abs(fd-slope) > 1e-4*mean { // first order in h, with second derivatives of some λ/weight
				t.Errorf("%v: ∂/∂%s = %g, by differences %g", d, side, slope, fd)
			}
		}
	}
}

// A geometry without points, and a cost without a gradient, say so.
func TestUnsupported(t *testing.T) {
	dense := solve(t, freg.Solver{Lambda: 1}, ot.Problem{Geometry: ot.Dense(mat.NewDense(2, 2, nil))})
	x := mat.NewDense(2, 1, []float64{0, 1})
	blind := solve(t, freg.Solver{Lambda: 1}, ot.Problem{Geometry: ot.Points(x, x, ot.CostFunc{Value: ot.L1.Cost})})
	for _, p := range []*freg.Plan{dense, blind} {
		if _, err := p.GradX(); !errors.Is(err, ot.ErrUnsupported) {
			t.Errorf("GradX: err = %v", err)
		}
		if _, err := p.GradY(); !errors.Is(err, ot.ErrUnsupported) {
			t.Errorf("GradY: err = %v", err)
		}
	}
	if v := dense.PhiAt([]float64{1, math.Inf(1)}); !math.IsNaN(v) {
		t.Errorf("PhiAt(+Inf) = %g", v)
	}
}
