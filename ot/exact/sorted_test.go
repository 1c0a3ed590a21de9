package exact

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Points that differ in the lower half of their bits only, many of them equal, are sorted as others are, equal ones in
// the given order.
func TestSorted(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for name, draw := range map[string]func() float64{
		"normal":    rng.NormFloat64,
		"integers":  func() float64 { return float64(rng.IntN(21) - 10) },
		"near 1":    func() float64 { return 1 + 0x1p-52*float64(rng.IntN(1<<20)) },
		"subnormal": func() float64 { return math.Copysign(rng.Float64(), rng.Float64()-0.5) * 0x1p-1040 },
	} {
		x := make([]float64, 3000)
		for i := range x {
			x[i] = draw()
		}
		values, order, err := sorted("x", x)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]int, len(x))
		for i := range want {
			want[i] = i
		}
		slices.SortStableFunc(want, func(i, j int) int { return cmp.Compare(x[i], x[j]) })
		if !slices.Equal(order, want) {
			t.Errorf("%s: another order", name)
		}
		for k, i := range order {
			if values[k] != x[i] {
				t.Errorf("%s: values[%d] = %g, want %g", name, k, values[k], x[i])
			}
		}
	}
}
