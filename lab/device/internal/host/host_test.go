package host

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
	"coupling/lab/must"
)

// open returns a device that is closed when the test ends.
func open(t testing.TB, isa cpu.ISA, workers int) *Host {
	t.Helper()
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
	if len(x) != product(shape) {
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

// near fails unless got is near want, relatively to scale.
func near[T cpu.Float](t testing.TB, what string, got []T, want []float64, tol float64) {
	t.Helper()
	for i, w := range want {
		if g := float64(got[i]); !(math.Abs(g-w) <= tol*(1+math.Abs(w))) &&
			!(math.IsNaN(g) && math.IsNaN(w)) && g != w {
			t.Fatalf("%s: element %d = %v, want %v", what, i, g, w)
		}
	}
}

// TestReduceShapes compares with sums element by element, over every choice of axes of shapes that reach every path.
func TestReduceShapes(t *testing.T) {
	h := open(t, cpu.Auto, 2)
	for _, shape := range [][]int{{7}, {3, 5}, {40000}, {3, 20000}, {20000, 3}, {2, 3, 4, 5}, {70, 5, 300}, {9, 700, 7},
		{2, 1, 3, 2, 1, 2}} {
		x := noise[float32](1, product(shape))
		xt := array(t, h, x, shape...)
		for mask := range 1 << len(shape) {
			small := make([]int, len(shape))
			for i, n := range shape {
				small[i] = n
				if mask>>i&1 == 1 {
					small[i] = 1
				}
			}
			out := array(t, h, make([]float32, product(small)), small...)
			for f := backend.Reduction(0); f <= backend.NumReduction; f++ {
				if f == backend.NumReduction {
					must.Do(h.Of(out.Type).ReduceDot(out, xt, xt))
				} else {
					must.Do(h.Of(out.Type).Reduce(out, xt, f))
				}
				near(t, "reduce", view[float32](out), slowReduce(x, shape, small, f), 1e-5)
			}
		}
	}
}

func slowReduce(x []float32, shape, small []int, f backend.Reduction) []float64 {
	n := product(small)
	out, count := make([]float64, n), make([]float64, n)
	fill(out, 0)
	if f == backend.Largest {
		fill(out, math.Inf(-1))
	}
	l := broadcast(shape, small)
	for i, v := range x {
		o, v := l.at(i)[0], float64(v)
		count[o]++
		switch f {
		case backend.Largest:
			out[o] = max(out[o], v)
		case backend.LogSumExp:
			out[o] += math.Exp(v)
		case backend.Sum, backend.Mean:
			out[o] += v
		default:
			out[o] += v * v
		}
	}
	for o := range out {
		switch f {
		case backend.Mean:
			out[o] /= count[o]
		case backend.LogSumExp:
			out[o] = math.Log(out[o])
		case backend.Norm:
			out[o] = math.Sqrt(out[o])
		}
	}
	return out
}
