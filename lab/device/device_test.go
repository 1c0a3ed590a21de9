package device_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"coupling/lab/device"
	"coupling/lab/device/cpu"
	"coupling/lab/device/devicetest"
	"coupling/lab/must"
)

// opener opens a CPU.
func opener(c device.CPU) func(testing.TB) *device.Device {
	return func(t testing.TB) *device.Device {
		return must.Get(c.Open())
	}
}

// instructionSets are those of this machine, the best first.
func instructionSets() (all []cpu.ISA) {
	for _, isa := range []cpu.ISA{cpu.AVX512, cpu.AVX2, cpu.Generic} {
		if d, err := (device.CPU{ISA: isa}).Open(); err == nil {
			d.Close()
			all = append(all, isa)
		}
	}
	return all
}

// TestCPU holds every instruction set to the references.
func TestCPU(t *testing.T) {
	for i, isa := range instructionSets() {
		if testing.Short() && i > 0 {
			break
		}
		t.Run(isa.String(), func(t *testing.T) {
			devicetest.Run(t, opener(device.CPU{ISA: isa, Workers: 2}))
		})
	}
}

// TestWorkers demands the same bits of 1, 2 and 5 workers, and of as many as there are processors.
func TestWorkers(t *testing.T) {
	counts := []int{2, 5, 0}
	if testing.Short() {
		counts = []int{5}
	}
	for i, isa := range instructionSets() {
		if testing.Short() && i > 0 {
			break
		}
		one := opener(device.CPU{ISA: isa, Workers: 1})(t)
		for _, workers := range counts {
			t.Run(fmt.Sprintf("%v/%d", isa, workers), func(t *testing.T) {
				many := opener(device.CPU{ISA: isa, Workers: workers})(t)
				devicetest.Same(t, one, many)
				must.Do(many.Close())
			})
		}
		must.Do(one.Close())
	}
}

// TestOnDevice holds the device that COUPLING_DEVICE names to the references. A GPU is held to them with our own
// products too, which nothing runs where cuBLAS is found.
func TestOnDevice(t *testing.T) {
	name := os.Getenv("COUPLING_DEVICE")
	if name == "" {
		if d, err := (device.CUDA{}).Open(); err != nil {
			t.Skipf("no GPU here, and COUPLING_DEVICE is not set: %v", err)
		} else if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		name = "cuda:0"
	}
	open := func(t testing.TB) *device.Device {
		d := must.Get(device.Open(name))
		t.Logf("%v: %s", d, d.Info().Detail)
		return d
	}
	t.Run("Run", func(t *testing.T) { devicetest.Run(t, open) })
	if n, ok := ordinal(name); ok {
		t.Run("Own products", func(t *testing.T) {
			devicetest.Run(t, func(t testing.TB) *device.Device {
				return must.Get(device.CUDA{Ordinal: n, CuBLAS: "none"}.Open())
			})
		})
	}
}

// ordinal is which GPU a name means.
func ordinal(name string) (n int, ok bool) {
	kind, number, numbered := strings.Cut(name, ":")
	if !numbered {
		return 0, kind == "cuda"
	}
	n, err := strconv.Atoi(number)
	return n, kind == "cuda" && err == nil
}

// FuzzOperations lets the fuzzer choose operations and sizes.
func FuzzOperations(f *testing.F) {
	d := must.Get(device.Open(os.Getenv("COUPLING_DEVICE")))
	f.Cleanup(func() { d.Close() })
	devicetest.Fuzz(f, d)
}
