package cuda_test

import (
	"testing"

	"coupling/lab/device"
	"coupling/lab/device/devicetest"
	"coupling/lab/device/internal/cuda/fakecuda"
)

// fake opens a GPU of the fake driver, with its cuBLAS or with our own products.
func fake(cublas bool) func(testing.TB) *device.Device {
	return func(t testing.TB) *device.Device {
		t.Helper()
		c := device.CUDA{Driver: fakecuda.Build(t), CuBLAS: "none"}
		if cublas {
			c.CuBLAS = c.Driver
		}
		d, err := c.Open()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
}

// TestConformance holds the whole path, kernels included, to the references that all devices are held to.
func TestConformance(t *testing.T) { devicetest.Run(t, fake(false)) }

// TestConformanceStrict does it with memory that is never reused, so that each array is a block of its own whose ends
// are checked and whose fresh contents are NaN, with threads that start in the reverse order, and with cuBLAS.
func TestConformanceStrict(t *testing.T) {
	if testing.Short() {
		t.Skip("a second pass")
	}
	t.Setenv("COUPLING_CUDA_NO_CACHE", "1")
	t.Setenv("FAKE_CUDA_BACKWARDS", "1")
	devicetest.Run(t, fake(true))
}

// TestSameNumbers demands the processor's results: within tolerances, random numbers bit for bit.
func TestSameNumbers(t *testing.T) {
	if testing.Short() {
		t.Skip("a third pass")
	}
	host, err := device.CPU{}.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	gpu := fake(false)(t)
	defer gpu.Close()
	devicetest.Compare(t, host, gpu)
}
