package cuda

import (
	"testing"

	"coupling/lab/device/internal/backend"
)

// TestKernelFails: a fault inside a kernel is told by the next call that waits, which names the call and the kernels,
// and by every later one.
func TestKernelFails(t *testing.T) {
	r := newRig(t, Config{})
	x := r.set(backend.Float32, []float64{1, 2, 3}, 3)
	t.Setenv("PTXSIM_FAIL", "map_f32")
	r.do(func() { r.g.Fill(x, 2) })
	r.do(func() { r.g.Map(x, x, backend.Exp, 0) }) // nobody knows yet
	says(t, r.g.Sync(), "cuStreamSynchronize", "CUDA_ERROR_LAUNCH_FAILED", "fill_f32, map_f32")
	says(t, r.g.Download(addressOf(make([]float32, 3)), x), "719")
	says(t, r.g.Close(), "719")
}

// TestLaunchRefused: what the driver says at once is told at once, and nothing else is lost.
func TestLaunchRefused(t *testing.T) {
	r := newRig(t, Config{})
	x := r.set(backend.Float32, []float64{1, 2, 3}, 3)
	t.Setenv("PTXSIM_FAIL", "launch:map_f32")
	says(t, r.op(func() { r.g.Map(x, x, backend.Exp, 0) })(), "cuLaunchKernel map_f32: CUDA_ERROR_LAUNCH_FAILED")
	t.Setenv("PTXSIM_FAIL", "")
	r.near("after it", r.get(x), []float64{1, 2, 3}, 0, 0)
}

// TestOverrun: the emulator finds what a kernel does beyond its arrays, so that tests on it mean something.
func TestOverrun(t *testing.T) {
	r := newRig(t, Config{})
	x, y := r.new(backend.Float32, 100), r.new(backend.Float32, 99)
	r.do(func() { r.g.each("elementwise", "fill_f32", 100, y, 100, 1.0) })
	says(t, r.g.Sync(), "CUDA_ERROR_ILLEGAL_ADDRESS", "fill_f32", "thread 99 of 256",
		"4 bytes at 396 of an allocation of 396")
	_ = x
	r.g.Close()
}

// TestUseAfterFree is found too.
func TestUseAfterFree(t *testing.T) {
	r := newRig(t, Config{})
	x := r.new(backend.Float64, 100)
	gone := block(&memory{addr: x.Mem.(*memory).addr})
	r.ok(r.g.Free(x.Mem))
	r.do(func() { r.g.each("elementwise", "fill_f64", 100, gone, 100, 1.0) })
	says(t, r.g.Sync(), "in no live allocation")
	r.g.Close()
}

// TestFreshMemory is not to be read.
func TestFreshMemory(t *testing.T) {
	r := newRig(t, Config{})
	says(t, r.g.Download(addressOf(make([]float32, 5)), r.new(backend.Float32, 5)), "unset: a copy to the host")
	r.g.Close()
}

// TestArguments: counts and sizes are checked against the PTX before a launch.
func TestArguments(t *testing.T) {
	r := newRig(t, Config{})
	x := r.new(backend.Float32, 3)
	fill := func(name string, args ...any) error {
		return r.op(func() { r.g.each("elementwise", name, 3, args...) })()
	}
	says(t, fill("fill_f32", x, 3), "fill_f32 takes 3 arguments, not 2")
	says(t, fill("fill_f32", x, int32(3), 0.0), "argument 1 of fill_f32 has 8 bytes, not 4")
	says(t, fill("fill_f16", x, 3, 0.0), "fill_f16")
}
