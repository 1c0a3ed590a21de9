package cpu

import "fmt"

// A Matrix is a view of elements: element (i, j) is Data[i·RowStride + j·ColStride].
type Matrix[T Float] struct {
	Data                 []T
	Rows, Cols           int
	RowStride, ColStride int
}

// Dense returns the row-major matrix of the given rows and columns over data.
func Dense[T Float](data []T, rows, cols int) Matrix[T] {
	return Matrix[T]{Data: data, Rows: rows, Cols: cols, RowStride: cols, ColStride: 1}
}

// T returns the transpose, a view of the same elements.
func (m Matrix[T]) T() Matrix[T] {
	return Matrix[T]{Data: m.Data, Rows: m.Cols, Cols: m.Rows, RowStride: m.ColStride, ColStride: m.RowStride}
}

// Slice returns the rows lo to hi of m.
func (m Matrix[T]) Slice(lo, hi int) Matrix[T] {
	return Matrix[T]{
		Data:      m.Data[min(lo*m.RowStride, len(m.Data)):],
		Rows:      hi - lo,
		Cols:      m.Cols,
		RowStride: m.RowStride,
		ColStride: m.ColStride,
	}
}

// holds reports whether Data has every element.
func (m Matrix[T]) holds() bool {
	if m.Rows < 0 || m.Cols < 0 || m.RowStride < 0 || m.ColStride < 0 {
		return false
	}
	return m.Rows == 0 || m.Cols == 0 || (m.Rows-1)*m.RowStride+(m.Cols-1)*m.ColStride < len(m.Data)
}

// Gemm computes matrix products, blocked and packed. The zero value works. It
// keeps its packing buffers for the next call, so one Gemm belongs to one
// goroutine at a time.
//
// Each element of the result is a sum over k in an order that depends on
// nothing but k: dealing rows or columns of the result to several Gemm gives
// the same bits as one.
type Gemm[T Float] struct {
	Kernels[T]
	a, b []T
}

// gemmCols is the columns of B packed at once. How deep blocks are, and how many rows of A are
// packed at once, is a tile's.
const gemmCols = 1024

// An operation is the term that a Gemm sums over k, by the number of its kernel.
type operation int

const (
	product  operation = iota // a·b
	square                    // (a−b)²
	absolute                  // |a−b|
)

// Add adds alpha·a·b to c, whose ColStride is 1. Views may be transposed:
// g.Add(c, 1, x, y.T()).
func (g *Gemm[T]) Add(c Matrix[T], alpha T, a, b Matrix[T]) {
	g.run(job[T]{op: product, c: c, a: a, b: b, alpha: alpha})
}

// AddSquares adds the squared distances Σ_k (x_ik − y_jk)² of the rows of x and
// y to c, without the cancellation of |x|² + |y|² − 2x·y.
func (g *Gemm[T]) AddSquares(c, x, y Matrix[T]) {
	g.run(job[T]{op: square, c: c, a: x, b: y.T(), alpha: 1})
}

// AddAbs adds the distances Σ_k |x_ik − y_jk| of the rows of x and y to c.
func (g *Gemm[T]) AddAbs(c, x, y Matrix[T]) {
	g.run(job[T]{op: absolute, c: c, a: x, b: y.T(), alpha: 1})
}

// AddGram adds aᵀ·diag(w)·a to the square matrix c, for example the Hessian's
// Tᵀ·diag(1/a)·T, computing one triangle and mirroring it; c must be symmetric
// before.
func (g *Gemm[T]) AddGram(c Matrix[T], w []T, a Matrix[T]) {
	same("AddGram", len(w), a.Rows)
	g.run(job[T]{op: product, c: c, a: a.T(), b: a, alpha: 1, weights: w, lower: true})
	for i := range c.Rows {
		row := c.Data[i*c.RowStride:]
		for j := range i {
			c.Data[j*c.RowStride+i] = row[j]
		}
	}
}

// A job is one call.
type job[T Float] struct {
	op      operation
	c, a, b Matrix[T]
	alpha   T
	weights []T  // by k, nil for none
	lower   bool // leave tiles above the diagonal alone
}

func (j job[T]) check() {
	if j.a.Rows != j.c.Rows || j.b.Cols != j.c.Cols || j.a.Cols != j.b.Rows {
		panic(fmt.Sprintf("cpu: Gemm: %d×%d is not %d×%d times %d×%d", j.c.Rows, j.c.Cols, j.a.Rows, j.a.Cols,
			j.b.Rows, j.b.Cols))
	}
	if j.c.ColStride != 1 && j.c.Cols > 1 || !j.c.holds() || !j.a.holds() || !j.b.holds() {
		panic("cpu: Gemm: a matrix has too little data for its strides, or columns of c are not adjacent")
	}
}

func (g *Gemm[T]) run(j job[T]) {
	j.check()
	t := tileOf(g.Kernels)
	depth := min(t.depth, j.a.Cols)
	rows := ceil(min(t.high, j.a.Rows), t.rows)
	cols := ceil(min(gemmCols, j.b.Cols), t.cols)
	g.a, g.b = grow(g.a, rows*pitch(depth)), grow(g.b, depth*cols)
	for k := 0; k < j.a.Cols; k += t.depth {
		kn := min(t.depth, j.a.Cols-k)
		for n := 0; n < j.b.Cols; n += gemmCols {
			nn := min(gemmCols, j.b.Cols-n)
			g.packWide(g.b, j.b, k, kn, n, nn, t.cols)
			for m := 0; m < j.a.Rows; m += t.high {
				mn := min(t.high, j.a.Rows-m)
				if j.lower && m+mn <= n {
					continue
				}
				t.rowStep, t.depthStep = g.packTall(j, m, mn, k, kn, t.rows)
				g.block(t, j, m, mn, n, nn, kn)
			}
		}
	}
}

// block runs the tiles of one block of c.
func (g *Gemm[T]) block(t tile[T], j job[T], m, mn, n, nn, kn int) {
	var edge [maxTile]T
	for y := 0; y < nn; y += t.cols {
		b := at(g.b[y*kn:])
		for x := 0; x < mn; x += t.rows {
			if j.lower && m+x+t.rows <= n+y {
				continue
			}
			a := at(g.a[x*pitch(kn):])
			c := j.c.Data[(m+x)*j.c.RowStride+n+y:]
			rows, cols := min(t.rows, mn-x), min(t.cols, nn-y)
			if rows == t.rows && cols == t.cols {
				t.run(j.op, at(c), a, b, kn, j.c.RowStride)
				continue
			}
			clear(edge[:t.rows*t.cols])
			t.run(j.op, ptr(&edge[0]), a, b, kn, t.cols)
			for r := range rows {
				g.Axpy(c[r*j.c.RowStride:][:cols], 1, edge[r*t.cols:][:cols])
			}
		}
	}
}
