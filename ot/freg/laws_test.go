package freg_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"coupling/ot"
	"coupling/ot/fdiv"
	"coupling/ot/freg"
	"coupling/ot/internal/rows"
	"coupling/ot/ottest"
)

// drawn is a random small problem, a divergence and a λ.
func drawn(t *rapid.T) (ot.Problem, freg.Solver) {
	p, eps := ottest.Problem(t)
	return p, freg.Solver{F: rapid.SampledFrom(fdiv.All()).Draw(t, "f"), Lambda: eps, Tol: 1e-11}
}

// size is the scale of the costs and λ.
func size(p ot.Problem, lambda float64) float64 {
	c := ot.Cost(p.Geometry)
	return math.Max(math.Abs(mat.Max(c)), math.Abs(mat.Min(c))) + lambda
}

func samePlan(t *rapid.T, what string, got, want mat.Matrix) {
	var d mat.Dense
	d.Sub(got, want)
	// Plans with an L1 error of 1e-11 each; the entries of a network that is hardly linked move by more, up to the
	// condition of their rows, which stays below 1e4 at these λ.
	if e := mat.Norm(&d, math.Inf(1)); e > 1e-7 {
		t.Fatalf("%s: plans differ by %g", what, e)
	}
}

// Certificates and marginals.
func TestLawCertificate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s := drawn(t)
		plan := solve(t, s, p)
		if plan.MarginalL1 > s.Tol || !(plan.Gap >= 0) {
			t.Fatalf("marginal error %g, gap %g", plan.MarginalL1, plan.Gap)
		}
		certify(t, plan)
		z := size(p, s.Lambda)
		if plan.Gap > 1e-8*z {
			t.Fatalf("gap %g", plan.Gap)
		}
		// The product plan is feasible: nobody is worse.
		c := ot.Cost(p.Geometry)
		var product float64
		for i, a := range plan.A {
			product += a * rows.Dot(plan.B, c.RawRowView(i))
		}
		if product += s.Lambda * s.F.F(1); plan.Dual > product+1e-12*z {
			t.Fatalf("value %g above that of a⊗b, %g", plan.Dual, product)
		}
	})
}

// Shifting costs by row and column shifts the value and leaves the plan; scaling costs and λ scales the value.
func TestLawAffine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s := drawn(t)
		want := solve(t, s, p)
		c := ot.Cost(p.Geometry)
		n, m := c.Dims()
		gen := rapid.Float64Range(-2, 2)
		r, q := rapid.SliceOfN(gen, n, n).Draw(t, "rows"), rapid.SliceOfN(gen, m, m).Draw(t, "columns")
		scale := math.Exp(rapid.Float64Range(-5, 5).Draw(t, "log scale"))
		c.Apply(func(i, j int, v float64) float64 { return scale * (v + r[i] + q[j]) }, c)
		moved := s
		moved.Lambda *= scale
		got := solve(t, moved, ot.Problem{Geometry: ot.Dense(c), A: p.A, B: p.B})
		samePlan(t, "shift and scale", got.Matrix(), want.Matrix())
		value := scale * (want.Dual + rows.Dot(want.A, r) + rows.Dot(want.B, q))
		if z := scale * (size(p, s.Lambda) + 4); math.Abs(got.Dual-value) > 1e-9*z {
			t.Fatalf("value %g, want %g", got.Dual, value)
		}
	})
}

// Renaming the atoms renames the plan; so does exchanging the sides.
func TestLawPermutation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s := drawn(t)
		want := solve(t, s, p)
		c := ot.Cost(p.Geometry)
		n, m := c.Dims()
		id := func(k int) []int {
			v := make([]int, k)
			for i := range v {
				v[i] = i
			}
			return v
		}
		rows, cols := rapid.Permutation(id(n)).Draw(t, "rows"), rapid.Permutation(id(m)).Draw(t, "columns")
		flipped, expected := mat.NewDense(m, n, nil), mat.NewDense(m, n, nil)
		a, b := make([]float64, n), make([]float64, m)
		tm := want.Matrix()
		for i := range n {
			a[i] = want.A[rows[i]]
			for j := range m {
				b[j] = want.B[cols[j]]
				flipped.Set(j, i, c.At(rows[i], cols[j]))
				expected.Set(j, i, tm.At(rows[i], cols[j]))
			}
		}
		got := solve(t, s, ot.Problem{Geometry: ot.Dense(flipped), A: b, B: a})
		samePlan(t, "permutation and exchange", got.Matrix(), expected)
	})
}

// The extension gives the potentials back, and those of atoms of weight 0.
func TestLawExtension(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s := drawn(t)
		plan := solve(t, s, p)
		z := size(p, s.Lambda)
		c := ot.Cost(p.Geometry)
		for i := range plan.A {
			got := plan.PhiAt(c.RawRowView(i))
			// Root and potential are rounded at the scale of the costs; where M is flat at the root, not at all.
			if math.Abs(got-plan.Phi[i]) > 1e-11*z {
				t.Fatalf("φ(x_%d) = %.17g, want %.17g", i, got, plan.Phi[i])
			}
		}
		for j := range plan.B {
			if plan.B[j] < 1e-3 && plan.B[j] > 0 {
				continue // its column is right to Tol only, which may be all of it
			}
			got := plan.PsiAt(mat.Col(nil, j, c))
			if math.Abs(got-plan.Psi[j]) > 1e-6*z {
				t.Fatalf("ψ(y_%d) = %.17g, want %.17g", j, got, plan.Psi[j])
			}
		}
	})
}

// The value falls with λ no faster than the divergence says: it is concave in λ, with slope D_f.
func TestLawConcave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s := drawn(t)
		mid := solve(t, s, p)
		slope := (mid.Primal - mid.Sharp) / s.Lambda
		for _, k := range []float64{0.5, 0.9, 1.1, 2} {
			o := s
			o.Lambda *= k
			if got := solve(t, o, p); got.Dual > mid.Primal+slope*(o.Lambda-s.Lambda)+1e-11*size(p, o.Lambda) {
				t.Fatalf("value %g at %g λ is above the tangent %g", got.Dual, k, mid.Primal+slope*(o.Lambda-s.Lambda))
			}
		}
	})
}
