package freg

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/fdiv"
)

// A half step for the columns that are far off does not lower the dual, puts those columns right
// for the rows' potentials, and leaves the others.
func TestMend(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	const n, m = 9, 100 // more columns than are read at a time
	c := mat.NewDense(n, m, nil)
	c.Apply(func(_, _ int, _ float64) float64 { return rng.Float64() }, c)
	for _, d := range fdiv.All() {
		in := must.Get(check(ot.Problem{Geometry: ot.Dense(c)}, 1))
		f, _ := familyOf(d)
		s := newSemidual(in, f, 1)
		s.lambda = 0.1
		psi := make([]float64, m)
		for j := range psi {
			psi[j] = rng.Float64()
		}
		dual := func() float64 {
			s.eval(psi)
			below, row := 0., newRow(m, m)
			for i, a := range s.a {
				s.recomputeRow(row, i, psi)
				for j, b := range s.b {
					below += a * b * f.excess(1, row.v[j], row.x-row.d[j])
				}
			}
			return -below
		}
		before, old := dual(), append([]float64(nil), psi...)
		far := make([]bool, m)
		any := false
		for j, b := range s.b {
			far[j] = s.col[j] > 2*b || s.col[j] < b/2
			any = any || far[j]
		}
		phi := make([]float64, n)
		s.phi(phi)
		if got := s.sinkhornColumns(psi); got != any {
			t.Fatalf("%v: mend = %v with far columns %v", d, got, far)
		}
		r := newRow(n, 0)
		for j := range psi {
			if !far[j] {
				if psi[j] != old[j] {
					t.Errorf("%v: ψ[%d] moved, whose column is off by little", d, j)
				}
				continue
			}
			r.load(f, s.lambda, phi, mat.Col(nil, j, c))
			r.x = (psi[j] + r.top) / s.lambda
			r.densities(f, s.a)
			var mass float64
			for _, v := range r.t {
				mass += v
			}
			// x from ψ is rounded at the scale of the costs over λ, which a density magnifies by its slope.
			if math.Abs(mass-1) > 1e-10 {
				t.Errorf("%v: column %d has %g of its mass", d, j, mass)
			}
		}
		if after := dual(); after < before-1e-12*math.Abs(before) {
			t.Errorf("%v: the dual fell from %g to %g", d, before, after)
		}
	}
}
