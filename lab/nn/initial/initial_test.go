package initial_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "coupling/lab/draws"
	"coupling/lab/nn/initial"
)

// Rows or columns of orthogonal weights are orthonormal, whichever are fewer.
func TestOrthogonal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(1, 9).Draw(t, "rows"), rapid.IntRange(1, 9).Draw(t, "cols")
		w := make([]float64, rows*cols)
		initial.Orthogonal()(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)), w, []int{rows, cols})
		at, n, m := func(i, j int) float64 { return w[i*cols+j] }, rows, cols
		if rows > cols {
			at, n, m = func(i, j int) float64 { return w[j*cols+i] }, cols, rows
		}
		for a := range n {
			for b := range n {
				dot, want := 0.0, 0.0
				for k := range m {
					dot += at(a, k) * at(b, k)
				}
				if a == b {
					want = 1
				}
				if math.Abs(dot-want) > 1e-13 { // a few roundings of numbers below 1
					t.Fatalf("rows %d and %d: %v, want %v", a, b, dot, want)
				}
			}
		}
	})
}

// A 1×1 orthogonal weight is ±1 with equal odds: what the signs of R are for. 4 standard deviations of a coin.
func TestOrthogonalSigns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 1000
	up := 0
	for range n {
		w := make([]float64, 1)
		initial.Orthogonal()(rng, w, []int{1, 1})
		if w[0] > 0 {
			up++
		}
	}
	if math.Abs(float64(up)-n/2) > 4*math.Sqrt(n)/2 {
		t.Errorf("%d of %d are positive", up, n)
	}
}

// Bounds and moments of the initialisers, from their definitions; moments of 40000 numbers within 5 standard errors and
// the rounding of their sums.
func TestInitialisers(t *testing.T) {
	shape := []int{40, 40, 5, 5} // fans of 1000
	for _, c := range []struct {
		name      string
		f         initial.Law
		mean, std float64
		lo, hi    float64
	}{
		{"normal", initial.Normal(1, .02), 1, .02, math.Inf(-1), math.Inf(1)},
		{"uniform", initial.Uniform(-1, 3), 1, 4 / math.Sqrt(12), -1, 3},
		{"PyTorch", initial.KaimingUniform(math.Sqrt(5)), 0, 2 / math.Sqrt(12*1000), -1 / math.Sqrt(1000),
			1 / math.Sqrt(1000)},
		{"constant", initial.Constant(3), 3, 0, 3, 3},
	} {
		w := make([]float64, 40*40*25)
		c.f(rand.New(rand.NewPCG(1, 2)), w, shape)
		n := float64(len(w))
		mean, square := 0.0, 0.0
		for _, v := range w {
			mean += v / n
		}
		for _, v := range w {
			square += (v - mean) * (v - mean) / n
		}
		if math.Abs(mean-c.mean) > 5*c.std/math.Sqrt(n)+1e-10 ||
			math.Abs(math.Sqrt(square)-c.std) > 5*c.std/math.Sqrt(n)+1e-10 {
			t.Errorf("%s: mean %v, standard deviation %v; want %v, %v", c.name, mean, math.Sqrt(square), c.mean, c.std)
		}
		if slices.Min(w) < c.lo || slices.Max(w) > c.hi {
			t.Errorf("%s: from %v to %v, want within %v to %v", c.name, slices.Min(w), slices.Max(w), c.lo, c.hi)
		}
	}
}
