// Package dense has products and distances of gonum's matrices by the kernels of package cpu, in
// chunks of rows of fixed size, so that results do not depend on the number of processors.
package dense

import (
	"context"
	"sync"

	"coupling/lab/device/cpu"

	"gonum.org/v1/gonum/mat"
)

// Chunk is the number of rows handled at once, whatever the number of processors.
const Chunk = 64

// View returns a *mat.Dense, or the transpose of one, as the kernels take it.
func View(m mat.Matrix) cpu.Matrix[float64] {
	if t, ok := m.(mat.Transpose); ok {
		return View(t.Matrix).T()
	}
	r := m.(*mat.Dense).RawMatrix()
	return cpu.Matrix[float64]{Data: r.Data, Rows: r.Rows, Cols: r.Cols, RowStride: r.Stride, ColStride: 1}
}

// products are idle multipliers with their scratch.
var products = sync.Pool{New: func() any { return new(cpu.Gemm[float64]) }}

// each clears dst and lets f add to its rows lo … hi−1, for all chunks.
func each(dst *mat.Dense, f func(g *cpu.Gemm[float64], lo, hi int)) {
	n, _ := dst.Dims()
	dst.Zero()
	_ = cpu.Chunks(context.Background(), n, Chunk, func(_, lo, hi int) {
		g := products.Get().(*cpu.Gemm[float64])
		defer products.Put(g)
		f(g, lo, hi)
	})
}

// Multiply writes a·b to dst, in chunks of rows; b may be a transposed matrix.
func Multiply(dst, a *mat.Dense, b mat.Matrix) {
	each(dst, func(g *cpu.Gemm[float64], lo, hi int) {
		g.Add(View(dst).Slice(lo, hi), 1, View(a).Slice(lo, hi), View(b))
	})
}

// Squares writes |x_i − y_j|² to dst.
func Squares(dst, x, y *mat.Dense) {
	each(dst, func(g *cpu.Gemm[float64], lo, hi int) {
		g.AddSquares(View(dst).Slice(lo, hi), View(x).Slice(lo, hi), View(y))
	})
}
