package host

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
	"coupling/lab/must"
)

// open returns a device that is closed when the test ends.
func open(t testing.TB, isa cpu.ISA, workers int) *Host {
	b := must.Get(Open(isa, workers))
	t.Cleanup(func() { must.Do(b.Close()) })
	return b.(*Host)
}

// array returns a tensor of the type of T with the given elements.
func array[T float32 | float64 | int32](t testing.TB, h *Host, x []T, shape ...int) tensor {
	t.Helper()
	typ := backend.Int32
	switch any(x).(type) {
	case []float32:
		typ = backend.Float32
	case []float64:
		typ = backend.Float64
	}
	if len(x) != backend.Product(shape) {
		t.Fatalf("%d elements for %v", len(x), shape)
	}
	m, err := h.Alloc(int64(len(x)) * int64(typ.Size()))
	must.Do(err)
	out := tensor{Mem: m, Type: typ, Shape: shape}
	must.Do(h.Upload(out, unsafe.Pointer(unsafe.SliceData(x))))
	return out
}

// noise is normal numbers of a seed.
func noise[T cpu.Float](seed uint64, n int) []T {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]T, n)
	for i := range x {
		x[i] = T(r.NormFloat64())
	}
	return x
}
