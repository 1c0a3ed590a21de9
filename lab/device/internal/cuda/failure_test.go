package cuda

import (
	"strings"
	"testing"

	"coupling/lab/device/internal/backend"
)

// TestKernelFails: a fault inside a kernel is told by the next call that waits, which names the call and the kernels,
// and by every later one.
func TestKernelFails(t *testing.T) {
	r := newRig(t, Config{})
	x := r.set(backend.Float32, []float64{1, 2, 3}, 3)
	t.Setenv("PTXSIM_FAIL", "map_f32")
	r.ok(r.g.Fill(x, 2))
	r.ok(r.g.Map(x, x, backend.Exp, 0)) // nobody knows yet
	err := r.g.Sync()
	for _, w := range []string{"cuStreamSynchronize", "CUDA_ERROR_LAUNCH_FAILED", "fill_f32, map_f32"} {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Fatalf("%v does not say %q", err, w)
		}
	}
	if err := r.g.Download(addressOf(make([]float32, 3)), x); err == nil || !strings.Contains(err.Error(), "719") {
		t.Errorf("after it: %v", err)
	}
	if err := r.g.Close(); err == nil || !strings.Contains(err.Error(), "719") {
		t.Errorf("Close: %v", err)
	}
}

// TestLaunchRefused: what the driver says at once is told at once, and nothing else is lost.
func TestLaunchRefused(t *testing.T) {
	r := newRig(t, Config{})
	x := r.set(backend.Float32, []float64{1, 2, 3}, 3)
	t.Setenv("PTXSIM_FAIL", "launch:map_f32")
	err := r.g.Map(x, x, backend.Exp, 0)
	if err == nil || !strings.Contains(err.Error(), "cuLaunchKernel map_f32: CUDA_ERROR_LAUNCH_FAILED") {
		t.Fatal(err)
	}
	t.Setenv("PTXSIM_FAIL", "")
	r.near("after it", r.get(x), []float64{1, 2, 3}, 0, 0)
}

// TestOverrun: the emulator finds what a kernel does beyond its arrays, so that tests on it mean something.
func TestOverrun(t *testing.T) {
	r := newRig(t, Config{})
	x, y := r.new(backend.Float32, 100), r.new(backend.Float32, 99)
	r.ok(r.g.do(func() error { return r.g.each("elementwise", "fill_f32", 100, array(y), i64(100), f64(1)) }))
	err := r.g.Sync()
	for _, w := range []string{"CUDA_ERROR_ILLEGAL_ADDRESS", "fill_f32", "thread 99 of 256",
		"4 bytes at 396 of an allocation of 396"} {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("%v does not say %q", err, w)
		}
	}
	_ = x
	r.g.Close()
}

// TestUseAfterFree is found too.
func TestUseAfterFree(t *testing.T) {
	r := newRig(t, Config{})
	x := r.new(backend.Float64, 100)
	gone := block(&memory{addr: x.Mem.(*memory).addr})
	r.ok(r.g.Free(x.Mem))
	r.ok(r.g.do(func() error { return r.g.each("elementwise", "fill_f64", 100, gone, i64(100), f64(1)) }))
	if err := r.g.Sync(); err == nil || !strings.Contains(err.Error(), "in no live allocation") {
		t.Error(err)
	}
	r.g.Close()
}

// TestFreshMemory is not to be read.
func TestFreshMemory(t *testing.T) {
	r := newRig(t, Config{})
	err := r.g.Download(addressOf(make([]float32, 5)), r.new(backend.Float32, 5))
	if err == nil || !strings.Contains(err.Error(), "unset: a copy to the host") {
		t.Error(err)
	}
	r.g.Close()
}

// TestArguments: counts and sizes are checked against the PTX before a launch.
func TestArguments(t *testing.T) {
	r := newRig(t, Config{})
	x := r.new(backend.Float32, 3)
	err := r.g.do(func() error { return r.g.each("elementwise", "fill_f32", 3, array(x), i64(3)) })
	if err == nil || !strings.Contains(err.Error(), "fill_f32 takes 3 arguments, not 2") {
		t.Error(err)
	}
	err = r.g.do(func() error { return r.g.each("elementwise", "fill_f32", 3, array(x), i32(3), f64(0)) })
	if err == nil || !strings.Contains(err.Error(), "argument 1 of fill_f32 has 8 bytes, not 4") {
		t.Error(err)
	}
	err = r.g.do(func() error { return r.g.each("elementwise", "fill_f16", 3, array(x), i64(3), f64(0)) })
	if err == nil || !strings.Contains(err.Error(), "fill_f16") {
		t.Error(err)
	}
}
