package cuda

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"coupling/lab/device/internal/backend"
	_ "coupling/lab/draws"
	"coupling/lab/must"
)

// TestDiv holds division by a product to division.
func TestDiv(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		by := rapid.OneOf(rapid.IntRange(1, 1<<31-1), rapid.IntRange(1, 100)).Draw(t, "by")
		n := rapid.OneOf(rapid.IntRange(0, 1<<31-1), rapid.Just(1<<31-1), rapid.Just(1<<31/by*by-1)).Draw(t, "n")
		d := divBy(by)
		if got := uint64(n) * uint64(d.Mul) >> (31 + d.Shift); got != uint64(n/by) {
			t.Errorf("%d/%d = %d", n, by, got)
		}
	})
}

// TestAxes: where the collapsed axes put an element is where the tensor has it.
func TestAxes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.IntRange(1, 4), 0, maxRank).Draw(t, "shape")
		small := slices.Clone(shape)
		for i := range small {
			if rapid.Bool().Draw(t, "broadcast") {
				small[i] = 1
			}
		}
		full, part := contiguous(shape), broadcast(small)
		a := newAxes(shape, full, part)
		for flat := range int(a.Len) {
			want := 0
			for k := range shape {
				want += flat / full[k] % shape[k] * part[k]
			}
			var got [2]int64
			rest := int64(flat)
			for k := int(a.Rank) - 1; k >= 0; k-- {
				for i := range got {
					got[i] += rest % a.Size[k] * a.Step[i][k]
				}
				rest /= a.Size[k]
			}
			if got != [2]int64{int64(flat), int64(want)} {
				t.Fatalf("element %d of %v: %v, want %d", flat, shape, got, want)
			}
		}
	})
}

// TestWide takes the kernels' path for tensors of 2^31 elements and more, on small ones.
func TestWide(t *testing.T) {
	r := newRig(t, Config{})
	a := newAxes([]int{3, 5, 7}, broadcast([]int{3, 1, 7}), broadcast([]int{1, 5, 1}))
	a.Wide = 1
	x, y := make([]float64, 21), []float64{100, 200, 300, 400, 500}
	for i := range x {
		x[i] = float64(i)
	}
	dst, dx, dy := r.new(backend.Float32, 3, 5, 7), r.set(backend.Float32, x, 21), r.set(backend.Float32, y, 5)
	r.do(func() { r.g.each("elementwise", "combine_f32", 105, dst, dx, dy, record(&a), backend.Add) })
	want := make([]float64, 105)
	for i := range want {
		want[i] = x[i/35*7+i%7] + y[i/7%5]
	}
	r.near("combine", r.get(dst), want, 0, 0)
}

// TestCuts: batches of planes and rows of plans that are cut into several launches give what one launch gives.
func TestCuts(t *testing.T) {
	r := newRig(t, Config{})
	rng := rand.New(rand.NewPCG(5, 6))
	const n, m, d, k, inv = 300, 40, 70, 3, 3
	pixels := make([]float64, n*d)
	for i := range pixels {
		pixels[i] = rng.NormFloat64() / 8
	}
	set := func(shape ...int) tensor {
		t := tensor{Shape: shape}
		return r.set(backend.Float32, pixels[:t.Len()], shape...)
	}
	x, y, u, h, v, w, square := set(n, d), set(m, d), set(n), set(m), set(m, k), set(n, 2), backend.Cost{Square: 1}
	image, cost := set(10, 3, 20, 35), r.new(backend.Float32, n, m)
	r.do(func() { r.g.Costs(cost, x, y, square) })
	all := func() (results [][]float64) {
		win := backend.Window{Kernel: [2]int{3, 2}, Stride: [2]int{2, 1}, Pad: [2]int{1, 0}, Dilation: [2]int{1, 1}}
		col, back := r.new(backend.Float32, 10, 3*6, 10*34), r.new(backend.Float32, 10, 3, 20, 35)
		conv, weight := r.new(backend.Float32, 10, 4, 10, 34), set(4, 3, 3, 2)
		apply, grad, lse := r.new(backend.Float32, n, k), r.new(backend.Float32, n, d), r.new(backend.Float32, n)
		cols := r.new(backend.Float32, m, 2)
		r.do(func() {
			r.g.im2col(col, image, win)
			r.g.col2im(back, col, win)
			r.g.Conv(conv, image, weight, win)
			r.g.PointApply(apply, x, y, u, h, v, square, inv)
			r.g.PointGrad(grad, x, y, u, h, u, h, square, inv, true)
			r.g.PointLSE(lse, x, y, h, square, inv)
			r.g.PlanCols(cols, cost, u, h, w, inv)
		})
		return [][]float64{r.get(col), r.get(back), r.get(conv), r.get(apply), r.get(lse), r.get(cols)}
	}
	whole := all()
	r.g.limits.flat, r.g.limits.chunk = 5000, 1
	names := []string{"im2col", "col2im", "Conv", "PointApply", "PointLSE", "PlanCols"}
	for i, got := range all() {
		rel := 0.0
		if names[i] == "PlanCols" {
			rel = 1e-5 // its sums run over rows, which are cut
		}
		r.near(names[i], got, whole[i], rel, rel)
	}
	r.g.limits.flat = 600
	large, win := r.new(backend.Float32, 10, 3, 700), backend.Window{
		Kernel:   [2]int{1, 1},
		Stride:   [2]int{1, 1},
		Dilation: [2]int{1, 1},
	}
	if err := r.op(func() { r.g.im2col(large, image, win) })(); err == nil {
		t.Error("a plane that is too large was taken")
	}
}

// TestThreads: contexts belong to threads, and every call brings its own. The emulator refuses calls without.
func TestThreads(t *testing.T) {
	r := newCachingRig(t, Config{})
	x := r.set(backend.Float64, []float64{0}, 1)
	one := r.set(backend.Float64, []float64{1}, 1)
	for range 20 {
		done := make(chan error)
		go func() {
			runtime.LockOSThread() // not unlocked: the thread ends with the goroutine, the next has another
			done <- r.op(func() { r.g.Combine(x, x, one, backend.Add) })()
		}()
		r.ok(<-done)
	}
	r.near("sum", r.get(x), []float64{20}, 0, 0)
}

// FuzzParsePTX: whatever stands in PTX, reading it ends, and kernels have names and block sizes.
func FuzzParsePTX(f *testing.F) {
	text := must.Get(readFile("dense.ptx.gz"))
	f.Add(text[:3000])
	f.Add([]byte(".visible .entry f(\n.param .u64 f_param_0\n)\n.maxntid 256, 1, 1\n{\n}\n"))
	f.Add([]byte(".visible .entry f(\n.param .align 8 .b8 f_param_0[208]\n)\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := parsePTX(text)
		if err != nil {
			return
		}
		for name, e := range entries {
			if name == "" || e.name != name || e.block < 1 || e.block > 1024 ||
				slices.ContainsFunc(e.params, func(size int) bool { return size < 1 }) {
				t.Errorf("%q: %+v", name, e)
			}
		}
	})
}

// TestTranspose turns batches of matrices around, by tiles of which a block takes several.
func TestTranspose(t *testing.T) {
	r := newRig(t, Config{})
	r.g.limits.rows = 2
	for _, dt := range floats {
		for _, s := range [][3]int{{1, 64, 33}, {3, 41, 70}, {2, 5, 96}} {
			batch, rows, cols := s[0], s[1], s[2]
			x, want := make([]float64, batch*rows*cols), make([]float64, batch*rows*cols)
			for i := range x {
				b, row, col := i/(rows*cols), i/cols%rows, i%cols
				x[i], want[(b*cols+col)*rows+row] = float64(i), float64(i)
			}
			to, from := r.new(dt, batch, cols, rows), r.set(dt, x, batch, rows, cols)
			r.do(func() { r.g.Permute(to, from, []int{0, 2, 1}) })
			if got := r.get(to); !slices.Equal(got, want) {
				t.Errorf("%v, %v: not transposed", dt, s)
			}
		}
	}
}
