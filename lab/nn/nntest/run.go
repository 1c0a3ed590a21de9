package nntest

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"coupling/lab/device"
	"coupling/lab/must"
)

// Run checks every layer of package nn on a device.
func Run(t *testing.T, open func(testing.TB) *device.Device) {
	RunCases(t, open, Layers())
}

// RunCases checks cases on a device.
func RunCases(t *testing.T, open func(testing.TB) *device.Device, cases []Case) {
	dev := open(t)
	dev.Track(true)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { Check(t, dev, c) })
	}
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
}

// Open opens the device that COUPLING_DEVICE names, the processor where it names none. The caller closes it.
func Open(t testing.TB) *device.Device {
	t.Helper()
	return must.Get(device.Open(cmp.Or(os.Getenv("COUPLING_DEVICE"), "cpu")))
}

// CPU returns the processor, which is closed when the test ends.
func CPU(t testing.TB) *device.Device {
	t.Helper()
	dev := must.Get(device.CPU{}.Open())
	t.Cleanup(func() { _ = dev.Close() })
	return dev
}

// InScope is Open with a scope, and closes both when the test ends: an array that is made outside
// of the scope and not freed fails the test.
func InScope(t testing.TB) *device.Device {
	t.Helper()
	dev := Open(t)
	dev.Track(true)
	scope := dev.Scope()
	t.Cleanup(func() {
		scope.Close()
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return dev
}

// Emulated reports whether the device is the emulator of a GPU, which is many thousand times slower than a GPU.
func Emulated(dev *device.Device) bool { return strings.HasPrefix(dev.Info().Name, "Emulator") }
