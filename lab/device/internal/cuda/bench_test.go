package cuda

import (
	"testing"

	"coupling/lab/device/internal/backend"
	"coupling/lab/device/internal/cuda/ptxsim"
	"coupling/lab/must"
)

func benchGPU(b *testing.B) *gpu {
	b.Helper()
	d := must.Get(Open(Config{Driver: ptxsim.Build(b), CuBLAS: "none"}))
	b.Cleanup(func() { d.Close() })
	return d.(*gpu)
}

// BenchmarkCalls is what this side of the driver costs, on the emulator, whose calls do next to nothing: an empty call,
// making the context current on a pinned thread, and a launch (into a capture, so that nothing runs).
func BenchmarkCalls(b *testing.B) {
	g := benchGPU(b)
	b.Run("call", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			call(g.cuCtxSetCurrent, g.context)
		}
	})
	b.Run("context", func(b *testing.B) {
		b.ReportAllocs()
		nothing := func() error { return nil }
		for b.Loop() {
			_ = g.do(nothing)
		}
	})
	b.Run("launch", func(b *testing.B) {
		b.ReportAllocs()
		m := must.Get(g.Alloc(400))
		t := backend.Tensor{Mem: m, Type: backend.Float32, Shape: []int{100}}
		rec := must.Get(g.Record(func() error {
			for b.Loop() {
				if err := g.Map(t, t, backend.Exp, 0); err != nil {
					return err
				}
			}
			return nil
		}))
		rec.Close()
		g.Free(m)
	})
}
