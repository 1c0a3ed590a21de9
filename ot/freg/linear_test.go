package freg

import (
	"math"
	"math/rand/v2"
	"testing"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/internal/rows"

	"gonum.org/v1/gonum/mat"
)

// denseLaplacian is a hessian at random potentials, and its matrix.
func denseLaplacian(f family, n, m int, lambda float64) (*hessian, *mat.SymDense, []float64) {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(m)))
	c := mat.NewDense(n, m, nil)
	c.Apply(func(_, _ int, _ float64) float64 { return rng.Float64() }, c)
	in := must.Get(check(ot.Problem{Geometry: ot.Dense(c)}, 1))
	s := newSemidual(in, f, 2)
	s.lambda = lambda
	psi := make([]float64, m)
	for j := range psi {
		psi[j] = rng.Float64() / 10
	}
	s.eval(psi)
	h := newHessian(s)
	h.assemble(psi, 1e-3, 0.1, 1e-300)

	want := mat.NewSymDense(m, nil)
	r := newRow(m, m)
	k := make([]float64, m)
	for i := range n {
		s.recomputeRow(r, i, psi)
		r.curvatures(k, f, s.a[i], s.b)
		var total float64
		for _, v := range k {
			total += v
		}
		for j := range m {
			want.SetSym(j, j, want.At(j, j)+k[j])
			for l := j; l < m; l++ {
				want.SetSym(j, l, want.At(j, l)-k[j]*k[l]/total)
			}
		}
	}
	for j := range m {
		want.SetSym(j, j, want.At(j, j)+h.ground[j])
	}
	g := make([]float64, m)
	s.gradient(g)
	return h, want, g
}

// Elimination and conjugate gradients solve the system that the definition gives, whether rows are lists or not.
func TestLinearSystems(t *testing.T) {
	for _, f := range []family{exponential, inverse, ramp, square, logistic} {
		for _, lambda := range []float64{1, 0.01} {
			h, want, g := denseLaplacian(f, 50, 30, lambda)
			var chol mat.Cholesky
			if !chol.Factorize(want) {
				t.Fatalf("family %s: the matrix is not definite", f.name)
			}
			var x mat.VecDense
			must.Do(chol.SolveVecTo(&x, mat.NewVecDense(len(g), g)))
			direct, iterated := make([]float64, len(g)), make([]float64, len(g))
			must.Do(h.eliminate(t.Context(), direct, g))
			if ok, err := h.conjugate(t.Context(), iterated, g, 1e-13, 2000); !ok || err != nil {
				t.Errorf("family %s, λ = %g: conjugate gradients did not converge", f.name, lambda)
			}
			tol := 1e-9 * mat.Norm(&x, math.Inf(1)) // the condition is at most some 1e4
			for j := range g {
				if math.Abs(direct[j]+x.AtVec(j)) > tol || math.Abs(iterated[j]+x.AtVec(j)) > tol {
					t.Fatalf("family %s, λ = %g: x[%d] = %g by elimination, %g by conjugate gradients, want %g", f.name,
						lambda, j, direct[j], iterated[j], -x.AtVec(j))
				}
			}
		}
	}
}

// Reduced costs are rounded once.
func TestReduce(t *testing.T) {
	dst := make([]float64, 1)
	rows.Reduce(dst, []float64{1e16 + 2}, 1e16, []float64{1})
	if dst[0] != 1 {
		t.Errorf("1e16+2 − 1e16 − 1 = %g, want 1", dst[0])
	}
	rows.Reduce(dst, []float64{1}, 1e16, []float64{-1e16})
	if dst[0] != 1 {
		t.Errorf("1 − 1e16 + 1e16 = %g, want 1", dst[0])
	}
}
