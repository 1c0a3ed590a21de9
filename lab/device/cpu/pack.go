package cpu

// Packing: blocks of the factors are copied to where a tile's loop reads them
// in order, from the nearest cache.

// pitch is the distance of packed rows of A: off the powers of two, which would
// fall on the same lines of the cache.
func pitch(depth int) int { return depth + 8 }

// packTall copies rows m… of A, columns k…, in strips of height rows, times
// alpha and weights, and returns the steps between rows and columns within a
// strip. Rows stay rows if they are adjacent in memory, else each column of a
// strip is made adjacent. Missing rows are zero.
func (g *Gemm[T]) packTall(j job[T], m, mn, k, kn, height int) (rowStep, depthStep int) {
	a := j.a
	if a.ColStride != 1 {
		for i := 0; i < mn; i += height {
			g.packColumns(g.a[i*pitch(kn):], j, m+i, min(height, mn-i), k, kn, height)
		}
		return 1, height
	}
	for i := range ceil(mn, height) {
		row := g.a[i*pitch(kn):][:kn]
		if i >= mn {
			clear(row)
			continue
		}
		from := a.Data[(m+i)*a.RowStride+k:][:kn]
		switch {
		case j.weights != nil:
			g.Mul(row, from, j.weights[k:k+kn])
		case j.alpha != 1:
			g.Scale(row, j.alpha, from)
		default:
			copy(row, from)
		}
	}
	return pitch(kn), 1
}

// packColumns packs one strip with adjacent columns.
func (g *Gemm[T]) packColumns(strip []T, j job[T], m, rows, k, kn, height int) {
	for p := range kn {
		factor := j.alpha
		if j.weights != nil {
			factor = j.weights[k+p]
		}
		to := strip[p*height : (p+1)*height]
		from := j.a.Data[m*j.a.RowStride+(k+p)*j.a.ColStride:]
		if j.a.RowStride == 1 {
			for r, v := range from[:rows] {
				to[r] = factor * v
			}
		} else {
			for r := range rows {
				to[r] = factor * from[r*j.a.RowStride]
			}
		}
		clear(to[rows:])
	}
}

// packWide copies rows k… of B, columns n…, in strips of width columns whose
// rows are adjacent. Missing columns are zero.
func (g *Gemm[T]) packWide(dst []T, b Matrix[T], k, kn, n, nn, width int) {
	for y := 0; y < nn; y += width {
		strip, cols := dst[y*kn:(y+width)*kn], min(width, nn-y)
		if cols < width {
			clear(strip)
		}
		from := b.Data[k*b.RowStride+(n+y)*b.ColStride:]
		switch {
		case b.ColStride == 1:
			g.CopyRows(strip, width, from, b.RowStride, kn, cols)
		case b.RowStride == 1:
			g.Transpose(strip, width, from, b.ColStride, cols, kn)
		default:
			for p := range kn {
				for q := range cols {
					strip[p*width+q] = from[p*b.RowStride+q*b.ColStride]
				}
			}
		}
	}
}

// ceil rounds n up to a multiple of step.
func ceil(n, step int) int { return (n + step - 1) / step * step }

// grow returns a buffer of n elements, the old one if it holds them.
func grow[T Float](buf []T, n int) []T {
	if cap(buf) < n {
		return make([]T, n)
	}
	return buf[:n]
}
