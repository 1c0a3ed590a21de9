package scones

import (
	"context"

	"coupling/lab/device/cpu"

	"gonum.org/v1/gonum/mat"
)

// chunk is the number of rows handled at once, whatever the number of processors.
const chunk = 64

func view(m *mat.Dense) cpu.Matrix[float64] {
	r := m.RawMatrix()
	return cpu.Matrix[float64]{Data: r.Data, Rows: r.Rows, Cols: r.Cols, RowStride: r.Stride, ColStride: 1}
}

// multiply writes a·b to dst, in chunks of rows.
func multiply(dst, a, b *mat.Dense) {
	n, _ := a.Dims()
	dst.Zero()
	_ = cpu.Chunks(context.Background(), n, chunk, func(_, lo, hi int) {
		var g cpu.Gemm[float64]
		g.Add(view(dst).Slice(lo, hi), 1, view(a).Slice(lo, hi), view(b))
	})
}

// squares writes |x_i − y_j|² to dst.
func squares(dst, x, y *mat.Dense) {
	n, _ := x.Dims()
	dst.Zero()
	_ = cpu.Chunks(context.Background(), n, chunk, func(_, lo, hi int) {
		var g cpu.Gemm[float64]
		g.AddSquares(view(dst).Slice(lo, hi), view(x).Slice(lo, hi), view(y))
	})
}
