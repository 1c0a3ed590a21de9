package cpu

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestGemm(t *testing.T) { onAll(t, gemms[float64], gemms[float32]) }

// gemms: products and distances of awkward sizes, plain and transposed, against
// sums in float64.
func gemms[T Float](t *testing.T, k Kernels[T]) {
	r := seeded(11)
	g := &Gemm[T]{Kernels: k}
	sizes := [][3]int{{0, 3, 2}, {3, 0, 2}, {3, 2, 0}, {1, 1, 1}, {12, 32, 5}, {13, 33, 7}, {6, 16, 256}, {25, 31, 257},
		{13, 17, 391}, {121, 70, 40}, {40, 2051, 3}}
	more := 12
	if testing.Short() {
		more = 3
	}
	for range more {
		sizes = append(sizes, [3]int{1 + r.IntN(40), 1 + r.IntN(70), 1 + r.IntN(30)})
	}
	for i, s := range sizes {
		m, n, d := s[0], s[1], s[2]
		a, b := view[T](r, m, d, i%2 == 0), view[T](r, d, n, i%3 == 0)
		alpha := T(r.NormFloat64())
		checkGemm(t, "Add", r, m, n, d, func(c Matrix[T]) { g.Add(c, alpha, a, b) },
			func(i, j, k int) float64 {
				return float64(alpha) * element(a, i, k) * element(b, k, j)
			})
		checkGemm(t, "AddSquares", r, m, n, d, func(c Matrix[T]) { g.AddSquares(c, a, b.T()) },
			func(i, j, k int) float64 { d := element(a, i, k) - element(b, k, j); return d * d })
		checkGemm(t, "AddAbs", r, m, n, d, func(c Matrix[T]) { g.AddAbs(c, a, b.T()) },
			func(i, j, k int) float64 { return math.Abs(element(a, i, k) - element(b, k, j)) })
		if t.Failed() {
			t.Fatalf("%d×%d×%d", m, n, d)
		}
	}
}

// view draws a matrix with a spare column, transposed in memory or not.
func view[T Float](r *rand.Rand, rows, cols int, transposed bool) Matrix[T] {
	if transposed {
		return view[T](r, cols, rows, false).T()
	}
	m := Dense(random[T](r, rows*(cols+1), 1), rows, cols)
	m.RowStride++
	return m
}

func element[T Float](m Matrix[T], i, j int) float64 {
	return float64(m.Data[i*m.RowStride+j*m.ColStride])
}

// checkGemm runs on a c with garbage and spare columns, which must stay.
func checkGemm[T Float](t *testing.T, what string, r *rand.Rand, m, n, depth int, run func(c Matrix[T]),
	term func(i, j, k int) float64) {
	t.Helper()
	data, intact := guarded[T](m * (n + 3))
	for i := range data {
		data[i] = T(r.NormFloat64())
	}
	before := append([]T(nil), data...)
	c := Matrix[T]{Data: data, Rows: m, Cols: n, RowStride: n + 3, ColStride: 1}
	run(c)
	for i := range m {
		for j := range n + 3 {
			got, was := data[i*(n+3)+j], float64(before[i*(n+3)+j])
			if j >= n {
				if float64(got) != was {
					t.Fatalf("%s %d×%d×%d wrote to the spare column %d", what, m, n, depth, j)
				}
				continue
			}
			want, size := was, math.Abs(was)
			for k := range depth {
				p := term(i, j, k)
				want, size = want+p, size+math.Abs(p)
			}
			near(t, label("%s %d×%d×%d [%d, %d]", what, m, n, depth, i, j), got, want,
				unit[T]()*size*float64(6+depth/4))
		}
	}
	if !intact() {
		t.Fatalf("%s %d×%d×%d wrote outside c", what, m, n, depth)
	}
}

func TestGram(t *testing.T) { onAll(t, grams[float64], grams[float32]) }

// grams: Aᵀ·diag(w)·A is symmetric and equals the product by definition.
func grams[T Float](t *testing.T, k Kernels[T]) {
	r := seeded(12)
	g := &Gemm[T]{Kernels: k}
	for _, s := range [][2]int{{1, 1}, {5, 3}, {40, 25}, {300, 61}, {7, 130}} {
		d, n := s[0], s[1]
		a, w := Dense(random[T](r, d*n, 1), d, n), random[T](r, d, 1)
		c := Dense(make([]T, n*n), n, n)
		g.AddGram(c, w, a)
		for i := range n {
			for j := range n {
				want, size := 0.0, 0.0
				for k := range d {
					p := element(a, k, i) * float64(w[k]) * element(a, k, j)
					want, size = want+p, size+math.Abs(p)
				}
				near(t, label("AddGram %d×%d [%d, %d]", d, n, i, j), c.Data[i*n+j], want, unit[T]()*size*float64(6+d/4))
				if c.Data[i*n+j] != c.Data[j*n+i] {
					t.Fatalf("AddGram of %d×%d is not symmetric at %d, %d", d, n, i, j)
				}
			}
		}
	}
}

// Dealing rows to several Gemm gives the same bits.
func TestGemmRowsApart(t *testing.T) { onAll(t, gemmApart[float64], gemmApart[float32]) }

func gemmApart[T Float](t *testing.T, k Kernels[T]) {
	r := seeded(13)
	const m, n, d = 131, 77, 411
	a, b := view[T](r, m, d, false), view[T](r, d, n, true)
	whole, parts := Dense(make([]T, m*n), m, n), Dense(make([]T, m*n), m, n)
	(&Gemm[T]{Kernels: k}).Add(whole, 1, a, b)
	for lo := 0; lo < m; lo += 50 {
		hi := min(lo+50, m)
		(&Gemm[T]{Kernels: k}).Add(parts.Slice(lo, hi), 1, a.Slice(lo, hi), b)
	}
	for i := range whole.Data {
		if whole.Data[i] != parts.Data[i] {
			t.Fatalf("element %d: %v in one call, %v in parts", i, whole.Data[i], parts.Data[i])
		}
	}
}
