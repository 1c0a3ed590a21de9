package cpu

// Reductions sum into a fixed number of partial sums and fold them in a fixed
// order: the same input gives the same bits, whatever its alignment, on one
// instruction set. Empty slices give 0.

// Sum returns Σ x_j.
func (k Kernels[T]) Sum(x []T) (sum T) {
	if f := k.form(); f != plain {
		return T(asmSum(f, at(x), len(x)))
	}
	for _, v := range x {
		sum += v
	}
	return sum
}

// Max returns the largest element, ignoring NaN, and −Inf for none.
func (k Kernels[T]) Max(x []T) (top T) {
	if f := k.form(); f != plain {
		return T(asmPlainMax(f, at(x), len(x)))
	}
	top = minusInf[T]()
	for _, v := range x {
		if v > top {
			top = v
		}
	}
	return top
}

// Dot returns Σ x_j·y_j, for example the transport cost Σ_j t_j·c_j of a row.
func (k Kernels[T]) Dot(x, y []T) (sum T) {
	same("Dot", len(x), len(y))
	if f := k.form(); f != plain {
		return T(asmDot(f, at(x), at(y), len(x)))
	}
	for j, v := range x {
		sum += v * y[j]
	}
	return sum
}

// WideSum returns Σ x_j, added in float64.
func (k Kernels[T]) WideSum(x []T) (sum float64) {
	switch f := k.form(); {
	case f == plain:
		for _, v := range x {
			sum += float64(v)
		}
		return sum
	case is64[T]():
		return asmSum(f, at(x), len(x))
	default:
		return asmWideSum(f.wide(), at(x), len(x))
	}
}

// WideDot returns Σ x_j·y_j, multiplied and added in float64.
func (k Kernels[T]) WideDot(x, y []T) (sum float64) {
	same("WideDot", len(x), len(y))
	switch f := k.form(); {
	case f == plain:
		for j, v := range x {
			sum += float64(v) * float64(y[j])
		}
		return sum
	case is64[T]():
		return asmDot(f, at(x), at(y), len(x))
	default:
		return asmWideDot(f.wide(), at(x), at(y), len(x))
	}
}

// L1Diff returns Σ |x_j − y_j|, for example the L1 error of a marginal.
func (k Kernels[T]) L1Diff(x, y []T) (sum T) {
	same("L1Diff", len(x), len(y))
	if f := k.form(); f != plain {
		return T(asmL1diff(f, at(x), at(y), len(x)))
	}
	for j, v := range x {
		d := v - y[j]
		if d < 0 {
			d = -d
		}
		sum += d
	}
	return sum
}

// DotSign returns Σ_j t_j·sign(x − y_j), sign(0) = 0: the derivative of
// Σ_j t_j·|x − y_j| by x.
func (k Kernels[T]) DotSign(t, y []T, x T) (sum T) {
	same("DotSign", len(t), len(y))
	if f := k.form(); f != plain {
		return T(asmDotSign(f, at(t), at(y), len(t), float64(x)))
	}
	for j, v := range t {
		switch d := x - y[j]; {
		case d > 0:
			sum += v
		case d < 0:
			sum -= v
		case d != d:
			sum += d
		}
	}
	return sum
}

// Below writes t_j to dst where y_j < x, else 0, and returns the sum; dst may be t or y.
func (k Kernels[T]) Below(dst, t, y []T, x T) (sum T) {
	same("Below", len(t), len(y))
	same("Below", len(t), len(dst))
	if f := k.form(); f != plain {
		return T(asmBelow(f, at(dst), at(t), at(y), len(t), float64(x)))
	}
	for j, v := range t {
		if !(y[j] < x) {
			v = 0
		}
		dst[j] = v
		sum += v
	}
	return sum
}
