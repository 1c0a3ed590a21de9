package laplacian

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"coupling/lab/must"
)

// plan draws an n×m matrix of positive entries and its row sums.
func plan(rng *rand.Rand, n, m int) (t, mass []float64) {
	t, mass = make([]float64, n*m), make([]float64, n)
	for i := range n {
		for j := range m {
			t[i*m+j] = rng.ExpFloat64() / float64(n*m)
			mass[i] += t[i*m+j]
		}
	}
	return t, mass
}

// The solution satisfies Diag(T1) u + T s = (T∘v)1 and Tᵀu + Diag(Tᵀ1) s = (T∘v)ᵀ1 + R, by either method, with more
// rows than go to one product and with fewer.
func TestSolvesThePlansSystem(t *testing.T) {
	ctx := context.Background()
	for _, n := range []int{12, assembleRows + 3} {
		const m = 9
		rng := rand.New(rand.NewPCG(3, 1))
		T, mass := plan(rng, n, m)
		v := make([]float64, n*m)
		for k := range v {
			v[k] = rng.NormFloat64()
		}
		net := &Network{M: m, W: make([]float64, m*m), I: make([]float64, m*m)}
		must.Do(net.Assemble(ctx, slices.Clone(T), slices.Clone(v), mass))
		net.R = make([]float64, m)
		net.R[0], net.R[5] = 0.3, -0.3
		feed := slices.Clone(net.R)
		cholesky, ok := net.Cholesky()
		if !ok {
			t.Fatal("weak pivot in a well-conditioned network")
		}
		eliminated := must.Get(net.Eliminate(ctx))
		for name, s := range map[string][]float64{"elimination": eliminated, "Cholesky": cholesky} {
			left := slices.Clone(feed) // (T∘v)ᵀ1 + R − Tᵀu − Diag(Tᵀ1) s
			for i := range n {
				var u float64
				for j := range m {
					u += T[i*m+j] * (v[i*m+j] - s[j]) / mass[i]
				}
				for j := range m {
					left[j] += T[i*m+j] * (v[i*m+j] - u - s[j])
				}
			}
			for j, x := range left {
				if math.Abs(x) > 1e-14 {
					t.Errorf("n = %d, %s: residual %g at node %d", n, name, x, j)
				}
			}
		}
	}
}

// Two pieces of two nodes: potential differences within each piece only.
func TestPieces(t *testing.T) {
	pieces := &Network{M: 4, W: []float64{0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0}, R: []float64{1, -1, 2, -2}}
	if _, ok := pieces.Cholesky(); ok {
		t.Error("Cholesky trusted a singular network")
	}
	s := must.Get(pieces.Eliminate(context.Background()))
	if math.Abs(s[0]-s[1]-0.5) > 1e-15 || math.Abs(s[2]-s[3]-0.5) > 1e-15 {
		t.Errorf("potentials of the pieces: %v, want differences of ½", s)
	}
}

// A link of 1e-30 between two halves, and a current of 1e-30 across it: a difference of 1, that subtraction would lose.
func TestWeakLink(t *testing.T) {
	net := &Network{M: 4, W: []float64{0, 1, 0, 0, 0, 0, 1e-30, 0, 0, 0, 0, 1, 0, 0, 0, 0},
		R: []float64{1e-30, 0, 0, -1e-30}}
	s := must.Get(net.Eliminate(context.Background()))
	if math.Abs(s[1]-s[2]-1) > 1e-15 {
		t.Errorf("potentials %v: want a difference of 1 across the weak link", s)
	}
}

// Nodes tied to the ground have absolute potentials.
func TestGround(t *testing.T) {
	net := &Network{M: 2, W: []float64{0, 1, 0, 0}, R: []float64{1, 0}, Ground: []float64{0, 0.5}}
	s := must.Get(net.Eliminate(context.Background()))
	if s[0] != 3 || s[1] != 2 {
		t.Errorf("potentials %v, want [3 2]", s)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	T, mass := plan(rand.New(rand.NewPCG(1, 1)), 3, 3)
	if err := (&Network{M: 3, W: make([]float64, 9), I: make([]float64, 9)}).
		Assemble(ctx, T, make([]float64, 9), mass); !errors.Is(err, context.Canceled) {
		t.Errorf("Assemble: err = %v, want context.Canceled", err)
	}
	if _, err := (&Network{M: 2, W: make([]float64, 4)}).Eliminate(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Eliminate: err = %v, want context.Canceled", err)
	}
}
