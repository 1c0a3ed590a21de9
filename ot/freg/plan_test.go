package freg_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/fdiv"
	"coupling/ot/freg"
)

// What is computed without the matrix is what the matrix gives.
func TestWithoutMatrix(t *testing.T) {
	p, mean := clouds(30, 150, 130, 2) // more than one span
	p = reweighted(p, func(a, b []float64) { a[3], b[7] = 0, 0 })
	n, m := p.Geometry.Dims()
	for _, d := range fdiv.All() {
		plan := solve(t, freg.Solver{F: d, Lambda: mean / 100}, p)
		certify(t, plan)
		tm := plan.Matrix()
		support := 0
		for i := range plan.A {
			for _, w := range tm.RawRowView(i) {
				if w > 0 {
					support++
				}
			}
		}
		if sparse := support < n*m/2; sparse != (d == fdiv.Pearson || d == fdiv.ChiSquare) {
			t.Errorf("%v: %d entries of %d", d, support, n*m)
		}
	}
}

// A source of weight 0 goes where a grain of mass there would.
func TestVanishingWeight(t *testing.T) {
	p, mean := clouds(31, 12, 10, 2)
	p = reweighted(p, func(a, b []float64) { a[5], b[2] = 0, 0 })
	grain := reweighted(p, func(a, b []float64) { a[5], b[2] = 1e-9, 1e-9 })
	for _, d := range fdiv.All() {
		s := freg.Solver{F: d, Lambda: mean / 5, Tol: 1e-14}
		got := must.Get(s.Solve(t.Context(), p))
		want := must.Get(s.Solve(t.Context(), grain))
		if math.Abs(got.Phi[5]-want.Phi[5]) > 1e-4*mean || math.Abs(got.Psi[2]-want.Psi[2]) > 1e-4*mean {
			t.Errorf("%v: φ = %g, ψ = %g without weight, %g, %g with a grain", d, got.Phi[5], got.Psi[2], want.Phi[5],
				want.Psi[2])
		}
	}
}

// The row equation holds at a new point.
func TestExtend(t *testing.T) {
	p, mean := clouds(32, 20, 25, 2)
	pc := p.Geometry.(*cost.Cloud)
	for _, d := range fdiv.All() {
		plan := solve(t, freg.Solver{F: d, Lambda: mean / 10, Tol: 1e-12}, p)
		at := mat.NewDense(1, 2, []float64{0.3, -0.2})
		phi := plan.PhiAt(ot.Cost(ot.MatrixFree(at, pc.Y(), pc.Kind)).RawRowView(0))
		var s float64
		for j, b := range plan.B {
			s += b * plan.F.Compatibility((phi+plan.Psi[j]-ot.SqEuclidean.Cost(at.RawRowView(0),
				pc.Y().RawRowView(j)))/plan.Lambda)
		}
		if math.Abs(s-1) > 1e-12 {
			t.Errorf("%v: Σ b M = %g at a new point", d, s)
		}
	}
}

// Lengths are index invariants.
func TestLengthPanics(t *testing.T) {
	plan := solve(t, freg.Solver{Lambda: 1}, ot.Problem{Geometry: ot.Dense(mat.NewDense(2, 3, nil))})
	for name, f := range map[string]func(){
		"PhiAt": func() { plan.PhiAt(make([]float64, 2)) },
		"PsiAt": func() { plan.PsiAt(make([]float64, 3)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s with a wrong length does not panic", name)
				}
			}()
			f()
		}()
	}
}
