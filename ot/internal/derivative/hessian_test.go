package derivative

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/lab/must"
	"coupling/ot/internal/laplacian"
)

// conjugate gradients solve what Cholesky does.
func TestConjugate(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	const n, m = 12, 9
	h := NewHessian(n, m, nil)
	T, mass := make([]float64, n*m), make([]float64, n)
	for i := range n {
		for j := range m {
			x := rng.ExpFloat64() / (n * m)
			T[i*m+j] = x
			h.rows[i].Idx, h.rows[i].Val = append(h.rows[i].Idx, int32(j)), append(h.rows[i].Val, x)
			h.Col[j] += x
			h.rows[i].Sum += x
			mass[i] += x
		}
	}
	v := make([]float64, n*m)
	for k := range v {
		v[k] = rng.NormFloat64()
	}
	net := &laplacian.Network{M: m, W: make([]float64, m*m), I: make([]float64, m*m)}
	must.Do(net.Assemble(context.Background(), T, v, mass))
	want, ok := net.Cholesky()
	if !ok {
		t.Fatal("weak pivot in a well-conditioned network")
	}
	got, cg := make([]float64, m), laplacian.CG{Mul: h.Mul, Diag: h.Col}
	_, resid, err := cg.Solve(context.Background(), got, net.Injections(), 1e-14, 0, 1000)
	if err != nil || resid > 1e-14 {
		t.Fatalf("conjugate gradients: residual %g, %v", resid, err)
	}
	for j := range m {
		if d := (got[j] - got[m-1]) - (want[j] - want[m-1]); math.Abs(d) > 1e-12 {
			t.Errorf("node %d: conjugate gradients and Cholesky differ by %g", j, d)
		}
	}
}
