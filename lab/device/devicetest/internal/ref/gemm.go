package ref

import "math"

// Matrix is a batch of matrices: Batch·Rows·Cols elements, row-major; T stands for the transpose of each.
type Matrix struct {
	Batch, Rows, Cols int // as stored
	T                 bool
	Data              []float64
}

func (m Matrix) at(b, i, j int) float64 {
	if m.T {
		i, j = j, i
	}
	return m.Data[(b%m.Batch*m.Rows+i)*m.Cols+j]
}

// inner is the number of columns of op(m).
func (m Matrix) inner() int {
	if m.T {
		return m.Rows
	}
	return m.Cols
}

// Gemm is alpha·op(a)·op(b) + beta·c, where c's elements do not count for beta = 0.
func Gemm(alpha float64, a, b Matrix, beta float64, c Matrix) Result {
	r := NewResult(len(c.Data))
	at := 0
	for batch := range c.Batch {
		for i := range c.Rows {
			for j := range c.Cols {
				var s Sum
				for k := range a.inner() {
					s.AddProduct(a.at(batch, i, k), b.at(batch, k, j))
				}
				v, size := alpha*s.Value(), math.Abs(alpha)*s.Size()
				if beta != 0 {
					old := beta * c.Data[at]
					v, size = v+old, size+math.Abs(old)
				}
				r.Value[at], r.Scale[at] = v, size
				at++
			}
		}
	}
	return r
}
