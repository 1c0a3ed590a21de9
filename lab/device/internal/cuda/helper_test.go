package cuda

import (
	"math"
	"testing"
	"unsafe"

	"coupling/lab/device/internal/backend"
	"coupling/lab/device/internal/cuda/ptxsim"
	"coupling/lab/must"
)

// rig is a GPU of the emulator and what tests make on it. Memory is exact: every overrun is a fault.
type rig struct {
	*testing.T
	g *gpu
}

func newRig(t *testing.T, c Config) *rig {
	t.Helper()
	t.Setenv("COUPLING_CUDA_NO_CACHE", "1")
	return newCachingRig(t, c)
}

func newCachingRig(t *testing.T, c Config) *rig {
	t.Helper()
	c.Driver = ptxsim.Build(t)
	if c.CuBLAS == "" {
		c.CuBLAS = "none"
	}
	b := must.Get(Open(c))
	r := &rig{t, b.(*gpu)}
	t.Cleanup(func() {
		if r.g.closed {
			return // by the test
		}
		must.Do(r.g.Close())
	})
	return r
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// do runs operations, which must not fail.
func (r *rig) do(f func()) {
	r.Helper()
	r.ok(r.op(f)())
}

// op runs operations and returns how they failed.
func (r *rig) op(f func()) func() error {
	return func() error { return r.g.do(func() error { f(); return nil }) }
}

// new is a tensor of unknown contents.
func (r *rig) new(dt backend.DType, shape ...int) tensor {
	r.Helper()
	t := tensor{Type: dt, Shape: shape}
	m := must.Get(r.g.Alloc(int64(t.Len()) * int64(dt.Size())))
	t.Mem = m
	r.Cleanup(func() {
		if !r.g.closed {
			r.g.Free(m)
		}
	})
	return t
}

// full is a tensor whose elements are v.
func (r *rig) full(dt backend.DType, v float64, shape ...int) tensor {
	r.Helper()
	t := r.new(dt, shape...)
	r.do(func() { r.g.Fill(t, v) })
	return t
}

// set is a tensor with the given elements, rounded to its type.
func (r *rig) set(dt backend.DType, x []float64, shape ...int) tensor {
	r.Helper()
	t := r.new(dt, shape...)
	if dt == backend.Float64 {
		r.ok(r.g.Upload(t, addressOf(x)))
	} else {
		r.ok(r.g.Upload(t, addressOf(narrow(x))))
	}
	return t
}

func (r *rig) ints(x []int32, shape ...int) tensor {
	r.Helper()
	t := r.new(backend.Int32, shape...)
	r.ok(r.g.Upload(t, addressOf(x)))
	return t
}

func (r *rig) get(t tensor) []float64 {
	r.Helper()
	switch t.Type {
	case backend.Float64:
		x := make([]float64, t.Len())
		r.ok(r.g.Download(addressOf(x), t))
		return x
	case backend.Int32:
		x := make([]int32, t.Len())
		r.ok(r.g.Download(addressOf(x), t))
		return widen(x)
	}
	x := make([]float32, t.Len())
	r.ok(r.g.Download(addressOf(x), t))
	return widen(x)
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

func widen[T float32 | int32](x []T) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// eps is the unit roundoff of a type.
func eps(dt backend.DType) float64 {
	if dt == backend.Float64 {
		return 0x1p-53
	}
	return 0x1p-24
}

// near compares elements: |got − want| ≤ abs + rel·|want|; infinities and NaN must agree.
func (r *rig) near(what string, got, want []float64, rel, abs float64) {
	r.Helper()
	if len(got) != len(want) {
		r.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if g == w || math.IsNaN(g) && math.IsNaN(w) || math.Abs(g-w) <= abs+rel*math.Abs(w) && !math.IsInf(w, 0) {
			continue
		}
		r.Errorf("%s: element %d is %v, want %v (off by %.3g, allowed %.3g)", what, i, g, w, g-w, abs+rel*math.Abs(w))
		return
	}
}

// floats is the types that operations come in.
var floats = []backend.DType{backend.Float32, backend.Float64}

func addressOf[T any](x []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }
