package host

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
	"coupling/lab/must"
)

func TestOpen(t *testing.T) {
	if _, err := Open(cpu.Auto, -1); err == nil {
		t.Error("−1 workers: no error")
	}
	if _, err := Open(cpu.ISA(77), 1); !errors.Is(err, cpu.ErrISA) {
		t.Errorf("an unknown instruction set: %v: must be ErrISA", err)
	}
	for _, isa := range cpu.Available() {
		h := open(t, isa, 3)
		if i := h.Info(); i.Kind != "cpu" || h.isa != isa || h.workers() != 3 {
			t.Errorf("%s: %+v", isa, i)
		}
	}
}

// TestLoops: merged loops visit the offsets of the plain nest, and a cursor those of at.
func TestLoops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.IntRange(1, 4), 0, maxAxes).Draw(t, "shape")
		small := slices.Clone(shape)
		for i := range small {
			if rapid.Bool().Draw(t, "one") {
				small[i] = 1
			}
		}
		l := broadcast(shape, shape, small)
		if l.turns() != backend.Product(shape) {
			t.Fatalf("%d turns over %v", l.turns(), shape)
		}
		start := rapid.IntRange(0, l.turns()-1).Draw(t, "start")
		c := l.from(start)
		for i := start; i < l.turns(); i++ {
			at := l.at(i)
			if at != c.at || at[0] != i || at[1] != offset(i, shape, small) {
				t.Fatalf("turn %d over %v and %v: %v, cursor %v", i, shape, small, at, c.at)
			}
			c.next()
		}
	})
}

// offset is where element i of shape lies in small, which broadcasts to it.
func offset(i int, shape, small []int) (at int) {
	stride := 1
	for a := len(shape) - 1; a >= 0; a-- {
		if small[a] != 1 {
			at += i % shape[a] * stride
		}
		i /= shape[a]
		stride *= small[a]
	}
	return at
}

func TestChoose(t *testing.T) {
	for _, x := range []float64{0, math.Copysign(0, -1), 5e-324, -5e-324, 1, -1, math.Inf(1), math.Inf(-1),
		math.MaxFloat64, -math.MaxFloat64} {
		want := 3.
		if x > 0 {
			want = 2
		}
		if got := choose(x, 2, 3); got != want {
			t.Errorf("choose(%v, 2, 3) = %v, want %v", x, got, want)
		}
	}
}

// TestFromExp: the functions of an exponential are good to a tenth of the rounding of float32, 2^−24, relatively, from
// the smallest arguments on.
func TestFromExp(t *testing.T) {
	const tol = 6e-9
	for e := -60.; e <= 6.4; e += 0.01 {
		for _, x := range []float64{math.Exp2(e), -math.Exp2(e)} {
			low := min(x, 0)
			for _, c := range []struct {
				name      string
				got, want float64
			}{
				{"expm1", expm1(low, math.Exp(low)), math.Expm1(low)},
				{"tanh", tanh(x, math.Exp(-2*math.Abs(x))), math.Tanh(x)},
				{"log1p", log1p(math.Exp(-math.Abs(x))), math.Log1p(math.Exp(-math.Abs(x)))},
			} {
				if math.Abs(c.got-c.want) > tol*math.Abs(c.want) {
					t.Fatalf("%s at %v = %v, want %v", c.name, x, c.got, c.want)
				}
			}
		}
	}
}

// TestSteadyState: operations allocate the closures and goroutines of their hand-over, not what grows with arrays.
func TestSteadyState(t *testing.T) {
	h := open(t, cpu.Auto, 2)
	a := array(t, h, noise[float32](1, 256*256), 256, 256)
	c := array(t, h, make([]float32, 256*256), 256, 256)
	row := array(t, h, make([]float32, 256), 1, 256)
	for name, f := range map[string]func(){
		"Gemm":    func() { h.Of(c.Type).Gemm(c, 1, a, false, a, true, 0) },
		"Map":     func() { h.Of(c.Type).Map(c, a, backend.Tanh, 0) },
		"Combine": func() { h.Of(c.Type).Combine(c, a, row, backend.Add) },
		"Alloc":   func() { must.Do(h.Free(must.Get(h.Alloc(1 << 20)))) },
	} {
		f()
		if n := testing.AllocsPerRun(20, f); n > 24 {
			t.Errorf("%s: %v allocations a call", name, n)
		}
	}
}
