package cpu

import "fmt"

// Products with a row-major matrix: row i of a is a[i·stride : i·stride+n],
// stride ≥ n. Rows are read along, four at a time, once.

// Gemv writes the products y_i = Σ_j a_ij·x_j of len(y) rows with x to y.
func (k Kernels[T]) Gemv(y, a []T, stride int, x []T) {
	matrix("Gemv", a, len(y), len(x), stride)
	f, i := k.form(), 0
	if f != plain {
		for ; i+4 <= len(y); i += 4 {
			asmDot4(f, ptr(&y[i]), at(a[i*stride:]), at(x), len(x), stride)
		}
	}
	for ; i < len(y); i++ {
		y[i] = k.Dot(a[i*stride:i*stride+len(x)], x)
	}
}

// GemvT adds the rows of a, weighted by w, to y: y_j += Σ_i w_i·a_ij. It is the
// column half-step read along rows, and with the coordinates of points as rows
// a barycentre.
func (k Kernels[T]) GemvT(y, a []T, stride int, w []T) {
	matrix("GemvT", a, len(w), len(y), stride)
	f, i := k.form(), 0
	if f != plain {
		for ; i+4 <= len(w); i += 4 {
			asmAxpy4(f, at(y), at(a[i*stride:]), ptr(&w[i]), len(y), stride)
		}
	}
	for ; i < len(w); i++ {
		k.Axpy(y, w[i], a[i*stride:i*stride+len(y)])
	}
}

// ScaleRows is the row half-step of kernel scaling together with the sums for
// the column half-step, in one read of the kernel matrix: for each row i
//
//	u_i = a_i / Σ_j k_ij·v_j, and 0 where a_i = 0
//	col_j += u_i·k_ij
//
// so that v_j = b_j / col_j (see Div) ends the iteration. col is not cleared.
func (k Kernels[T]) ScaleRows(u, col, kernel []T, stride int, a, v []T) {
	matrix("ScaleRows", kernel, len(u), len(v), stride)
	same("ScaleRows", "u", len(u), "a", len(a))
	same("ScaleRows", "v", len(v), "col", len(col))
	for i := 0; i < len(u); i += 4 {
		j := min(i+4, len(u))
		rows := kernel[i*stride : (j-1)*stride+len(v)]
		k.Gemv(u[i:j], rows, stride, v)
		for r := i; r < j; r++ {
			if a[r] == 0 {
				u[r] = 0
			} else {
				u[r] = a[r] / u[r]
			}
		}
		k.GemvT(col, rows, stride, u[i:j])
	}
}

// matrix checks that a holds rows of n elements stride apart.
func matrix[T Float](kernel string, a []T, rows, n, stride int) {
	if stride < n || rows > 0 && len(a) < (rows-1)*stride+n {
		panic(fmt.Sprintf("cpu: %s: %d elements do not hold %d rows of %d with stride %d", kernel, len(a), rows, n, stride))
	}
}
