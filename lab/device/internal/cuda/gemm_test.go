package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/lab/device/internal/backend"
)

// TestGemm takes both tiles, their edges, splits along k and batches with shared factors, by our own kernels and by
// cuBLAS, for every transpose.
func TestGemm(t *testing.T) {
	rng, count := rand.New(rand.NewPCG(3, 4)), 0
	for _, c := range []struct{ batch, m, n, k int }{
		{1, 1, 1, 1}, {1, 65, 33, 17}, {1, 1, 1, 3000}, {1, 130, 20, 600}, {1, 5, 3, 0}, {3, 17, 64, 31},
		{1, 1, 300, 40}, {130, 9, 7, 5},
	} {
		for _, dt := range floats {
			for mode := range 8 {
				if count++; testing.Short() && count%5 != 0 {
					continue
				}
				ta, tb, lib := mode&1 != 0, mode&2 != 0, mode&4 != 0
				name := fmt.Sprintf("%v/%v/ta=%v,tb=%v,cublas=%v", c, dt, ta, tb, lib)
				t.Run(name, func(t *testing.T) {
					r := newRig(t, Config{})
					if lib {
						r = newRig(t, Config{CuBLAS: r.g.lib.path})
					}
					gemmCase(r, rng, dt, c.batch, c.m, c.n, c.k, ta, tb)
				})
			}
		}
	}
	t.Run("big tile",
		func(t *testing.T) { gemmCase(newRig(t, Config{}), rng, backend.Float32, 130, 3, 5, 20, true, false) })
}

func gemmCase(r *rig, rng *rand.Rand, dt backend.DType, batch, m, n, k int, ta, tb bool) {
	normals := func(count int) []float64 {
		x := make([]float64, count)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return round(dt, x)
	}
	shared := batch > 1 && rng.IntN(2) == 0
	na := batch
	if shared {
		na = 1
	}
	shape := func(b, rows, cols int, turned bool) []int {
		if turned {
			rows, cols = cols, rows
		}
		return []int{b, rows, cols}
	}
	a, b, c := normals(na*m*k), normals(batch*k*n), normals(batch*m*n)
	beta := []float64{0, 1.5}[rng.IntN(2)]
	if beta == 0 {
		for i := range c {
			c[i] = math.NaN()
		}
	}
	dc := r.set(dt, c, batch, m, n)
	r.ok(r.g.Gemm(dc, 0.5, r.set(dt, a, shape(na, m, k, ta)...), ta, r.set(dt, b, shape(batch, k, n, tb)...), tb, beta))
	want, size := make([]float64, len(c)), make([]float64, len(c))
	for g := range batch {
		for i := range m {
			for j := range n {
				at := (g*m+i)*n + j
				for l := range k {
					ia, ib := i*k+l, l*n+j
					if ta {
						ia = l*m + i
					}
					if tb {
						ib = j*k + l
					}
					term := a[g%na*m*k+ia] * b[g*k*n+ib]
					want[at] += 0.5 * term
					size[at] += 0.5 * math.Abs(term)
				}
				if beta != 0 {
					want[at] += beta * c[at]
					size[at] += math.Abs(beta * c[at])
				}
			}
		}
	}
	r.within("Gemm", r.get(dc), want, size, float64(k+4)*eps(dt)) // Higham 2002, (3.13)
}

// within compares with a bound a term of each sum.
func (r *rig) within(what string, got, want, size []float64, rel float64) {
	r.Helper()
	for i := range want {
		if math.Abs(got[i]-want[i]) > rel*size[i]+1e-300 {
			r.Errorf("%s: element %d is %v, want %v: off by %.3g of its terms, allowed %.3g", what, i, got[i], want[i],
				math.Abs(got[i]-want[i])/size[i], rel)
			return
		}
	}
}
