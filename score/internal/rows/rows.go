// Package rows multiplies and compares batches of points that are the rows of matrices, in chunks of fixed size, so that
// results do not depend on the number of processors.
package rows

import (
	"context"

	"coupling/lab/device/cpu"

	"gonum.org/v1/gonum/mat"
)

// Chunk is the number of rows handled at once, whatever the number of processors.
const Chunk = 64

func view(m *mat.Dense) cpu.Matrix[float64] {
	r := m.RawMatrix()
	return cpu.Matrix[float64]{Data: r.Data, Rows: r.Rows, Cols: r.Cols, RowStride: r.Stride, ColStride: 1}
}

// Multiply writes a·b to dst, in chunks of rows.
func Multiply(dst, a, b *mat.Dense) {
	n, _ := a.Dims()
	dst.Zero()
	_ = cpu.Chunks(context.Background(), n, Chunk, func(_, lo, hi int) {
		var g cpu.Gemm[float64]
		g.Add(view(dst).Slice(lo, hi), 1, view(a).Slice(lo, hi), view(b))
	})
}

// Squares writes |x_i − y_j|² to dst.
func Squares(dst, x, y *mat.Dense) {
	n, _ := x.Dims()
	dst.Zero()
	_ = cpu.Chunks(context.Background(), n, Chunk, func(_, lo, hi int) {
		var g cpu.Gemm[float64]
		g.AddSquares(view(dst).Slice(lo, hi), view(x).Slice(lo, hi), view(y))
	})
}
