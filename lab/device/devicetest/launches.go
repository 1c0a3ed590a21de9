package devicetest

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"coupling/lab/device"
	"coupling/lab/device/internal/cuda/ptxsim"
)

// launches are the limits of steps on a GPU: name, then launches, kernels, waits, uploads and
// downloads at most, and the model's milliseconds at most.
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
	return opened(t, device.CUDA{Driver: path, CuBLAS: path})
}

// CPU opens the processor, and closes it when the test ends.
func CPU(t testing.TB) *device.Device {
	t.Helper()
	return opened(t, device.CPU{})
}

func opened(t testing.TB, kind interface {
	Open() (*device.Device, error)
},
) *device.Device {
	t.Helper()
	d, err := kind.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// What an H200 does in a second, for Hold's model: 3 µs to launch a kernel from the host, 1 µs from
// a graph, 20 µs for a wait and a copy; 4.3 TB/s from memory, 52 TFLOP/s of float32 in products
// (NVIDIA's data sheet: 4.8 and 67; some nine and eight tenths of them, as a guess).
const (
	launchTime, nodeTime, waitTime = 3e-6, 1e-6, 20e-6
	memoryRate, productRate        = 4.3e12, 52e12
)

// Hold compares the calls of a step with the table LAUNCHES, and logs them with a model of its time
// on an H200: the longer of what the host needs to ask for it and what the GPU needs to do it, and
// the waits. Never measured on a GPU.
func Hold(t testing.TB, step string, had device.Traffic) {
	t.Helper()
	issue := launchTime * float64(had.Launches)
	work := nodeTime*float64(had.Kernels) + float64(had.Bytes)/memoryRate + had.FLOP/productRate
	model := 1e3 * (max(issue, work) + waitTime*float64(had.Waits))
	t.Logf(
		"%s: %d launches of %d kernels, %d waits, %d uploads, %d downloads, %.1f MB, %.2f GFLOP: model of an H200 "+
			"%.2f ms, asking %.2f, memory %.2f, products %.2f",
		step, had.Launches, had.Kernels, had.Waits, had.Uploads, had.Downloads, float64(had.Bytes)/1e6, had.FLOP/1e9,
		model, 1e3*issue, 1e3*float64(had.Bytes)/memoryRate, 1e3*had.FLOP/productRate)
	for line := range strings.Lines(launches) {
		name, limits, ok := strings.Cut(line, ":")
		if !ok || name != step {
			continue
		}
		var most [5]int64
		var mostTime float64
		if _, err := fmt.Sscan(limits, &most[0], &most[1], &most[2], &most[3], &most[4], &mostTime); err != nil {
			t.Fatalf("LAUNCHES: %q: %v", line, err)
		}
		for k, n := range []int64{had.Launches, had.Kernels, had.Waits, had.Uploads, had.Downloads} {
			if what := [...]string{"launches", "kernels", "waits", "uploads", "downloads"}[k]; n > most[k] {
				t.Errorf("%s: %d %s, at most %d", step, n, what, most[k])
			}
		}
		if model > mostTime {
			t.Errorf("%s: %.2f ms by the model, at most %g", step, model, mostTime)
		}
		if had.Launches == 0 {
			t.Errorf("%s: nothing was launched", step)
		}
		return
	}
	t.Errorf("LAUNCHES has no line for %q", step)
}
