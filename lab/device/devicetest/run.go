package devicetest

import (
	"runtime"
	"strings"
	"testing"

	"coupling/lab/device"
)

// Run holds a device to everything that package device promises. open returns a fresh device each time it is called;
// Run closes them. One device does all operations, others are opened for what ends with closing.
func Run(t *testing.T, open func(testing.TB) *device.Device) {
	t.Run("Operations", func(t *testing.T) { operations(t, open) })
	Behaviour(t, open)
}

// Behaviour is the short part of Run: laws on random shapes, memory, recordings and errors.
func Behaviour(t *testing.T, open func(testing.TB) *device.Device) {
	t.Run("Properties", func(t *testing.T) { properties(t, open) })
	t.Run("Memory", func(t *testing.T) { memory(t, open) })
	t.Run("Graph", func(t *testing.T) { graphs(t, open) })
	t.Run("Errors", func(t *testing.T) { failures(t, open) })
}

// operations plays all scenarios, then again, in short tests those of float32, in the reverse order
// with another number of processors.
func operations(t *testing.T, open func(testing.TB) *device.Device) {
	d := open(t)
	defer closed(t, d)
	made := map[string][]output{}
	each(func(name string, s scenario, dtype device.DType) {
		t.Run(name, func(t *testing.T) {
			made[name] = play(t, d, s, dtype, true)
			if n, bytes, _ := d.Live(); n > 0 {
				t.Errorf("%d arrays, %d bytes live on", n, bytes)
			}
		})
	})
	t.Run("Again", func(t *testing.T) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
		var names []string
		all := map[string]func() []output{}
		each(func(name string, s scenario, dtype device.DType) {
			if testing.Short() && (dtype == device.Float64 || strings.HasPrefix(name, "Large")) {
				return
			}
			names = append(names, name)
			all[name] = func() []output { return play(t, d, s, dtype, false) }
		})
		for i := len(names) - 1; i >= 0; i-- {
			if first, ok := made[names[i]]; ok { // -run may have left some out
				sameBits(t, names[i], first, all[names[i]]())
			}
		}
	})
}

// scenarios is everything that is played.
func scenarios() []scenario {
	var all []scenario
	for _, some := range [][]scenario{elementwise(), layout(), reductions(), normalisations(), products(), windows(),
		resamplings(), random(), training(), transport(), large()} {
		all = append(all, some...)
	}
	return all
}

// each calls f for every scenario in every type; in short tests large ones in float32 alone: both
// types are made from one source.
func each(f func(name string, s scenario, dtype device.DType)) {
	for _, s := range scenarios() {
		for _, dtype := range floats {
			if testing.Short() && dtype == device.Float64 && strings.HasPrefix(s.name, "Large") {
				continue
			}
			f(s.name+"/"+dtype.String(), s, dtype)
		}
	}
}

// closed closes a device, which must not have kept anything.
func closed(t testing.TB, d *device.Device) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}
