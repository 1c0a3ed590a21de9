package devicetest

import (
	"math"
	"testing"

	"coupling/lab/device"
)

// Same demands the same bits of two devices, in short tests of float32 alone.
func Same(t *testing.T, a, b *device.Device) {
	each(func(name string, s scenario, dtype device.DType) {
		if testing.Short() && dtype == device.Float64 {
			return
		}
		sameBits(t, name, play(t, a, s, dtype, false), play(t, b, s, dtype, false))
	})
}

// sameBits compares what two runs of a scenario made.
func sameBits(t testing.TB, name string, x, y []output) {
	t.Helper()
	if len(x) != len(y) {
		t.Errorf("%s: %d results, then %d", name, len(x), len(y))
		return
	}
	for i := range x {
		if at := differ(x[i].got, y[i].got); at >= 0 {
			t.Errorf("%s: %s[%d] = %v, then %v: must have the same bits", name, x[i].what, at, x[i].got[at],
				y[i].got[at])
		}
	}
}

// differ is where two slices differ first in their bits, NaN being NaN, or −1.
func differ(x, y []float64) int {
	for i := range x {
		if i >= len(y) || math.Float64bits(x[i]) != math.Float64bits(y[i]) && !(math.IsNaN(x[i]) && math.IsNaN(y[i])) {
			return i
		}
	}
	return -1
}
