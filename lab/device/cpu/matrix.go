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

// matrix checks that a holds rows of n elements stride apart.
func matrix[T Float](kernel string, a []T, rows, n, stride int) {
	if stride < n || rows > 0 && len(a) < (rows-1)*stride+n {
		panic(fmt.Sprintf("cpu: %s: %d elements do not hold %d rows of %d with stride %d", kernel, len(a), rows,
			n, stride))
	}
}
