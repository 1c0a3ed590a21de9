package host

import (
	"errors"
	"fmt"
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

func TestIndexErrors(t *testing.T) {
	h := open(t, cpu.Auto, 1)
	table, rows := array(t, h, noise[float64](1, 6), 3, 2), array(t, h, make([]float64, 4), 2, 2)
	for _, bad := range [][]int32{{0, 3}, {-1, 0}, {math.MaxInt32, 0}} {
		index := array(t, h, bad, 2)
		before := slices.Clone(view[float64](table))
		for name, err := range map[string]error{
			"Gather":  h.Gather(rows, table, index),
			"Scatter": h.Scatter(table, rows, index),
			"CrossEntropy": h.f64.CrossEntropy(array(t, h, make([]float64, 2), 2), rows,
				array(t, h, noise[float64](1, 4), 2, 2), index),
		} {
			if !errors.Is(err, backend.ErrIndex) {
				t.Errorf("%s with %v: %v: must be ErrIndex", name, bad, err)
			}
		}
		if !slices.Equal(before, view[float64](table)) {
			t.Errorf("Scatter with %v wrote", bad)
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
		if l.turns() != product(shape) {
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

// TestGemmWays: a product is the same, bit for bit, by whichever way and number of workers, and near the plain sum.
func TestGemmWays(t *testing.T) {
	counts := []int{1, 2, 5}
	if testing.Short() {
		counts = []int{1, 5}
	}
	for _, s := range []struct{ batch, m, n, k int }{
		{1, 300, 500, 70}, {9, 70, 49, 300}, {9, 1, 300, 40}, {9, 300, 1, 40}, {5, 13, 200, 3}, {3, 2, 2, 0},
		{40, 3, 1, 5}, {4, 1, 1, 7},
	} {
		for way := range 8 {
			ta, tb, shared := way&1 != 0, way&2 != 0, way&4 != 0
			as, bs := []int{s.batch, s.m, s.k}, []int{s.batch, s.k, s.n}
			if shared {
				as[0] = 1
			}
			if ta {
				as[1], as[2] = as[2], as[1]
			}
			if tb {
				bs[1], bs[2] = bs[2], bs[1]
			}
			a, b := noise[float32](1, product(as)), noise[float32](2, product(bs))
			var first []float32
			for _, workers := range counts {
				h := open(t, cpu.Auto, workers)
				c := array(t, h, slices.Repeat([]float32{float32(math.NaN())}, s.batch*s.m*s.n), s.batch, s.m, s.n)
				must.Do(h.Of(c.Type).Gemm(c, 0.5, array(t, h, a, as...), ta, array(t, h, b, bs...), tb, 0))
				got := view[float32](c)
				if first == nil {
					first = got
					near(t, fmt.Sprint("Gemm ", s, ta, tb, shared), got,
						slowGemm(a, b, s.batch, s.m, s.n, s.k, as, ta, tb), 1e-5)
				}
				if !slices.Equal(got, first) {
					t.Errorf("%v, transposed %v and %v, shared %v: %d workers differ from 1", s, ta, tb,
						shared, workers)
				}
			}
		}
	}
}

func slowGemm(a, b []float32, batch, m, n, k int, as []int, ta, tb bool) []float64 {
	out := make([]float64, batch*m*n)
	for q := range batch {
		qa := q % as[0]
		for i := range m {
			for j := range n {
				for p := range k {
					ia, ib := i*k+p, p*n+j
					if ta {
						ia = p*m + i
					}
					if tb {
						ib = j*k + p
					}
					out[(q*m+i)*n+j] += 0.5 * float64(a[qa*m*k+ia]) * float64(b[q*n*k+ib])
				}
			}
		}
	}
	return out
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
	for name, f := range map[string]func() error{
		"Gemm":    func() error { return h.Of(c.Type).Gemm(c, 1, a, false, a, true, 0) },
		"Map":     func() error { return h.Of(c.Type).Map(c, a, backend.Tanh, 0) },
		"Combine": func() error { return h.Of(c.Type).Combine(c, a, row, backend.Add) },
		"Alloc": func() error {
			m, err := h.Alloc(1 << 20)
			return errors.Join(err, h.Free(m))
		},
	} {
		must.Do(f())
		if n := testing.AllocsPerRun(20, func() { must.Do(f()) }); n > 24 {
			t.Errorf("%s: %v allocations a call", name, n)
		}
	}
}

// TestTallColumns: log-sum-exps of columns and plans' column sums over several chunks of rows and bands of columns.
func TestTallColumns(t *testing.T) {
	for _, s := range [][2]int{{1000, 3}, {700, 1100}, {257, 1}} {
		n, m := s[0], s[1]
		c, g := noise[float32](1, n*m), noise[float32](2, n)
		g[3] = float32(math.Inf(-1))
		want, mass := make([]float64, m), make([]float64, m)
		for j := range m {
			for i := range n {
				mass[j] += math.Exp(float64(g[i]) - 0.5*float64(c[i*m+j]))
			}
			want[j] = math.Log(mass[j])
		}
		var first []float32
		for _, workers := range []int{1, 2, 5} {
			h := open(t, cpu.Auto, workers)
			ct, gt := array(t, h, c, n, m), array(t, h, g, n)
			out, sums := array(t, h, make([]float32, m), m), array(t, h, make([]float32, m), m, 1)
			must.Do(h.Of(out.Type).LSECols(out, ct, gt, 0.5))
			near(t, "LSECols", view[float32](out), want, 2e-6) // 2 units in the last place of float32 arguments
			must.Do(h.Of(sums.Type).PlanCols(sums, ct, gt, array(t, h, make([]float32, m), m),
				array(t, h, slices.Repeat([]float32{1}, n), n, 1), 0.5))
			near(t, "PlanCols", view[float32](sums), mass, 2e-6)
			got := slices.Concat(view[float32](out), view[float32](sums))
			if first == nil {
				first = got
			}
			if !slices.Equal(got, first) {
				t.Errorf("%v: %d workers differ from 1", s, workers)
			}
		}
	}
}
