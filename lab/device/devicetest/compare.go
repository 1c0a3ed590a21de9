package devicetest

import (
	"math"
	"testing"

	"coupling/lab/device"
)

// Compare demands that two devices agree: random numbers, copies and single operations bit for bit, the rest within the
// sum of their tolerances.
func Compare(t *testing.T, a, b *device.Device) {
	each(func(name string, s scenario, dtype device.DType) {
		t.Run(name, func(t *testing.T) {
			x, y := play(t, a, s, dtype, true), play(t, b, s, dtype, true)
			if s.name == largerThanGrids && !goesAround(b) && goesAround(a) {
				t.Skipf("%v has no grids: %v is compared with the float64 reference alone", b, a)
			}
			if len(x) != len(y) {
				t.Fatalf("%d results on %v, %d on %v", len(x), a, len(y), b)
			}
			for i := range x {
				agree(t, x[i], y[i])
			}
		})
	})
}

func agree(t *testing.T, x, y output) {
	t.Helper()
	if x.what != y.what || len(x.got) != len(y.got) || len(x.tol) != len(x.got) || len(y.tol) != len(y.got) {
		t.Errorf("%s and %s cannot be compared", x.what, y.what)
		return
	}
	for i, v := range x.got {
		w := y.got[i]
		if v != w && !(math.IsNaN(v) && math.IsNaN(w)) && !(math.Abs(v-w) <= x.tol[i]+y.tol[i]) {
			t.Errorf("%s[%d]: %v and %v", x.what, i, v, w)
			return
		}
	}
}

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
