package cpu

// Mixed is the set of kernels on rows that are held in float32 while vectors,
// arithmetic and sums are float64: half the memory to wait for, and no other
// rounding than that of the stored rows. The zero value uses the instruction set
// that Active reports. What holds for the methods of Kernels holds for these.
type Mixed struct {
	ISA ISA
}

func (k Mixed) form() form { return Kernels[float64](k).form() }

// leastNormal32 is the least normal float32.
const leastNormal32 = 0x1p-126

// Narrow writes alpha·x, each product rounded to float64 and then to float32,
// to dst, and 0 where it is less than 2^−126: a stored number is never denormal,
// and never negative.
func (k Mixed) Narrow(dst []float32, alpha float64, x []float64) {
	same("Narrow", len(dst), len(x))
	if f := k.form(); f != plain {
		asmNarrow(f, at(dst), at(x), len(x), alpha)
		return
	}
	for j, v := range x {
		dst[j] = 0
		if v *= alpha; !(v < leastNormal32) {
			dst[j] = float32(v)
		}
	}
}

// Dot returns Σ x_j·y_j.
func (k Mixed) Dot(x []float32, y []float64) (sum float64) {
	same("Dot", len(x), len(y))
	if f := k.form(); f != plain {
		return asmMixedDot(f, at(x), at(y), len(x))
	}
	for j, v := range x {
		sum += float64(v) * y[j]
	}
	return sum
}

// Axpy adds alpha·x to y.
func (k Mixed) Axpy(y []float64, alpha float64, x []float32) {
	same("Axpy", len(y), len(x))
	if f := k.form(); f != plain {
		asmMixedAxpy(f, at(y), at(x), len(x), alpha)
		return
	}
	for j, v := range x {
		y[j] += alpha * float64(v)
	}
}

// Gemv writes the products y_i = Σ_j a_ij·x_j of len(y) rows with x to y.
func (k Mixed) Gemv(y []float64, a []float32, stride int, x []float64) {
	matrix("Gemv", a, len(y), len(x), stride)
	f, i := k.form(), 0
	if f != plain {
		for ; i+4 <= len(y); i += 4 {
			asmMixedDot4(f, ptr(&y[i]), at(a[i*stride:]), at(x), len(x), stride)
		}
	}
	for ; i < len(y); i++ {
		y[i] = k.Dot(a[i*stride:i*stride+len(x)], x)
	}
}

// GemvT adds the rows of a, weighted by w, to y: y_j += Σ_i w_i·a_ij.
func (k Mixed) GemvT(y []float64, a []float32, stride int, w []float64) {
	matrix("GemvT", a, len(w), len(y), stride)
	f, i := k.form(), 0
	if f != plain {
		for ; i+4 <= len(w); i += 4 {
			asmMixedAxpy4(f, at(y), at(a[i*stride:]), ptr(&w[i]), len(y), stride)
		}
	}
	for ; i < len(w); i++ {
		k.Axpy(y, w[i], a[i*stride:i*stride+len(y)])
	}
}
