package exact

import (
	"cmp"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/lab/must"
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
		values, order := must.Get2(sorted("x", x))
		for k, i := range order {
			if values[k] != x[i] || k > 0 && cmp.Or(cmp.Compare(values[k-1], x[i]), order[k-1]-i) >= 0 {
				t.Fatalf("%s: values[%d] is %g, x[%d] = %g", name, k, values[k], i, x[i])
			}
		}
		if len(order) != len(x) {
			t.Errorf("%s: %d of %d values", name, len(order), len(x))
		}
	}
}
