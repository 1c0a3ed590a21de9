package devicetest

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"coupling/lab/device"
	"coupling/lab/device/internal/cuda/ptxsim"
	"coupling/lab/must"
)

// launches are what steps ask of a GPU: the table of GPU.md, a row a step.
//
//go:embed LAUNCHES
var launches string

// Counting opens a GPU that computes nothing and counts its calls (the emulator, idle): steps of any size run at
// once there. It skips the test where there is no C++ compiler, and in short tests, since the driver is compiled first.
func Counting(t testing.TB) *device.Device {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles the emulator")
	}
	path := ptxsim.Build(t)
	t.Setenv("PTXSIM_IDLE", "1")
	t.Setenv("PTXSIM_MEMORY", "80000000000")
	return opened(t, must.Get(device.CUDA{Driver: path, CuBLAS: path}.Open()))
}

// CPU opens the processor, and closes it when the test ends.
func CPU(t testing.TB) *device.Device {
	t.Helper()
	return opened(t, must.Get(device.CPU{}.Open()))
}

// opened closes a device when the test ends.
func opened(t testing.TB, d *device.Device) *device.Device {
	t.Cleanup(func() { must.Do(d.Close()) })
	return d
}

// Steps makes steps with a device and calls mark once for each.
type Steps func(t testing.TB, dev *device.Device, steps int, mark func())

// HoldStep holds the fourth of eight steps of a run to its row of LAUNCHES.
func HoldStep(t testing.TB, step string, run Steps) {
	t.Helper()
	dev := Counting(t)
	var at []device.Traffic
	run(t, dev, 8, func() { at = append(at, dev.Traffic()) })
	Hold(t, step, at[3].Minus(at[2]))
}

// TimeSteps times steps of a run on the device that COUPLING_DEVICE names, after some that record and fill pools.
func TimeSteps(b *testing.B, run Steps) {
	b.Helper()
	const first = 8
	dev, marks := opened(b, must.Get(device.Open(""))), 0
	run(b, dev, first+b.N, func() {
		switch marks++; marks {
		case first:
			must.Do(dev.Sync())
			b.ResetTimer()
		case first + b.N:
			must.Do(dev.Sync())
			b.StopTimer()
		}
	})
}

// What an H200 does in a second, for Hold's model: 3 µs to launch a kernel from the host, 1 µs from
// a graph, 20 µs for a wait and a copy; 4.3 TB/s from memory, 52 TFLOP/s of float32 in products
// (NVIDIA's data sheet: 4.8 and 67; some nine and eight tenths of them, as a guess).
const (
	launchTime, nodeTime, waitTime = 3e-6, 1e-6, 20e-6
	memoryRate, productRate        = 4.3e12, 52e12
)

// Hold demands that a step asks for what its row of LAUNCHES has: calls, bytes and operations, and the time of a model
// of an H200 from them, the longer of what the host needs to ask for it and what the GPU needs to do it, and the waits.
// TimeSteps measures; no GPU has been measured.
func Hold(t testing.TB, step string, had device.Traffic) {
	t.Helper()
	issue := launchTime * float64(had.Launches)
	work := nodeTime*float64(had.Kernels) + float64(had.Bytes)/memoryRate + had.FLOP/productRate
	row := fmt.Sprintf("| %d | %d | %d | %d, %d | %.5g | %.4g | %.3g |\n", had.Launches, had.Kernels, had.Waits,
		had.Uploads, had.Downloads, float64(had.Bytes)/1e6, had.FLOP/1e9,
		1e3*(max(issue, work)+waitTime*float64(had.Waits)))
	for line := range strings.Lines(launches) {
		name, want, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if name != step && !strings.HasPrefix(name, step+": ") {
			continue
		}
		want = "| " + want
		if want != row || had.Launches == 0 {
			t.Errorf("%s asks for\n%sand LAUNCHES (and GPU.md) has\n%s", name, row, want)
		}
		return
	}
	t.Errorf("LAUNCHES has no row for %q: %s", step, row)
}
