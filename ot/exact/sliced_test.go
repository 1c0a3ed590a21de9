package exact_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/exact"
)

// A translation by v has SW₂² = |v|²/d, and in one dimension slicing is W itself.
func TestSliced(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const n, d, k = 40, 3, 20000
	x := mat.NewDense(n, d, nil)
	x.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, x)
	y := mat.DenseCopyOf(x)
	for i := range n {
		y.Set(i, 0, y.At(i, 0)+2)
	}
	got, err := exact.Sliced{Directions: k}.Value(t.Context(), rng, x, y, nil, nil)
	// ⟨θ,v⟩² has the variance |v|⁴ (3/(d(d+2)) − 1/d²) = 16·4/45.
	if se := math.Sqrt(16 * 4. / 45 / k); err != nil || math.Abs(got-4./3) > 5*se {
		t.Errorf("%v, %v, want %v ± %v", got, err, 4./3, se)
	}
	line, want := mat.DenseCopyOf(x.Slice(0, n, 0, 1)), 0.0
	other := mat.DenseCopyOf(x.Slice(0, n, 1, 2))
	if want, err = (exact.Line{P: 1}).Value(mat.Col(nil, 0, line), nil, mat.Col(nil, 0, other), nil); err != nil {
		t.Fatal(err)
	}
	if got, err := (exact.Sliced{P: 1, Directions: 3}).Value(t.Context(), rng, line, other, nil, nil); err != nil ||
		math.Abs(got-want) > 1e-14 {
		t.Errorf("in one dimension %v, %v, want %v", got, err, want)
	}
	if _, err := (exact.Sliced{}).Value(t.Context(), rng, line, x, nil, nil); !errors.Is(err, ot.ErrShape) {
		t.Errorf("dimensions 1 and 3: err = %v, want ErrShape", err)
	}
}
