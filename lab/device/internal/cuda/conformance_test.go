package cuda_test

import (
	"os"
	"testing"

	"coupling/lab/device"
	"coupling/lab/device/devicetest"
	"coupling/lab/device/internal/cuda"
	"coupling/lab/device/internal/cuda/ptxsim"
	"coupling/lab/must"
)

// emulated opens a GPU of the emulator, with its cuBLAS or with our own products.
func emulated(cublas bool) func(testing.TB) *device.Device {
	return func(t testing.TB) *device.Device {
		t.Helper()
		c := device.CUDA{Driver: ptxsim.Build(t), CuBLAS: "none"}
		if cublas {
			c.CuBLAS = c.Driver
		}
		return must.Get(c.Open())
	}
}

// TestConformance holds the whole path, kernels included, to the references that all devices are
// held to. Memory is never reused, so that each array is a block of its own whose ends are checked
// and whose fresh contents are not to be read.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("every operation on the emulator; TestConformanceAsUsed runs its behaviour")
	}
	t.Setenv("COUPLING_CUDA_NO_CACHE", "1")
	devicetest.Run(t, emulated(false))
}

// TestConformanceAsUsed does it as programs do, with memory that is reused and with cuBLAS: what
// depends on that, or all.
func TestConformanceAsUsed(t *testing.T) {
	if os.Getenv("COUPLING_THOROUGH") == "1" {
		devicetest.Run(t, emulated(true))
		return
	}
	devicetest.Behaviour(t, emulated(true))
}

// TestConformanceOrders runs warps one after another, and in two more orders.
func TestConformanceOrders(t *testing.T) {
	thorough(t)
	for _, order := range [][2]string{{"PTXSIM_SCHEDULE", "lowest"}, {"PTXSIM_SEED", "2"}, {"PTXSIM_SEED", "3"}} {
		t.Run(order[0]+"="+order[1], func(t *testing.T) {
			t.Setenv(order[0], order[1])
			devicetest.Run(t, emulated(false))
		})
	}
}

// thorough skips what repeats TestConformance in another setting.
func thorough(t *testing.T) {
	t.Helper()
	if os.Getenv("COUPLING_THOROUGH") != "1" {
		t.Skip("COUPLING_THOROUGH=1 runs it")
	}
}

// TestConformanceLarge runs the loops that only large problems have: second rounds of a grid's
// stride, several tiles a block.
func TestConformanceLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("every operation on the emulator")
	}
	t.Setenv("COUPLING_CUDA_NO_CACHE", "1")
	cuda.CutEarly(t)
	devicetest.Run(t, emulated(false))
}
