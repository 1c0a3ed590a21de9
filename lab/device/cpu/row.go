package cpu

// Rows of a dense cost matrix. With h = β/ε, a cost row c and inv = 1/ε > 0
// finite, the arguments are x_j = h_j − c_j·inv, rounded once where the
// instruction set has a fused multiply-add (all but Generic on amd64).
// h_j = −Inf and c_j = +Inf give weight zero.

// RowMax returns max_j (h_j − c_j·inv), ignoring NaN, and −Inf for no elements. Here inv may be any finite number:
// with h = 0, 1 gives −min c and −1 gives max c.
func (k Kernels[T]) RowMax(h, c []T, inv T) (top T) {
	same("RowMax", len(h), len(c))
	if f := k.form(); f != plain {
		return T(asmDenseMax(f, at(h), at(c), len(h), float64(inv)))
	}
	top = minusInf[T]()
	for j, v := range h {
		if x := v - c[j]*inv; x > top {
			top = x
		}
	}
	return top
}

// RowLogits writes h_j − c_j·inv to dst and returns the largest, ignoring NaN.
func (k Kernels[T]) RowLogits(dst, h, c []T, inv T) (top T) {
	same("RowLogits", len(h), len(c))
	same("RowLogits", len(h), len(dst))
	if f := k.form(); f != plain {
		return T(asmDenseLogits(f, at(dst), at(h), at(c), len(h), float64(inv)))
	}
	top = minusInf[T]()
	for j, v := range h {
		dst[j] = v - c[j]*inv
		if dst[j] > top {
			top = dst[j]
		}
	}
	return top
}

// RowExp makes the pass of the semi-dual over one row: it returns top =
// max_j (h_j − c_j·inv) and sum = Σ_j t_j and writes
//
//	t_j = exp(h_j − c_j·inv − top), 0 ≤ t_j ≤ 1,
//
// to dst. The row's soft minimum is −ε(top + log sum), the row of the plan
// a_i·t_j/sum. A row of nothing but −Inf gives top = −Inf, sum = 0 and zeros.
// NaN is ignored by top and passes into t and sum; +Inf gives NaN.
//
// Where a good shift is known, RowExpAt needs one pass less.
func (k Kernels[T]) RowExp(dst, h, c []T, inv T) (top, sum T) {
	top = k.RowMax(h, c, inv)
	return top, k.RowExpAt(dst, h, c, inv, finite(top))
}

// RowExpAt writes t_j = exp(h_j − c_j·inv − shift) to dst and returns Σ_j t_j.
//
// With shift = log of the row's sum (for example of the iteration before) it
// does what RowExp does in one pass. The shift is good if the sum that comes
// back is neither 0 nor infinite nor near: entries under 1e-308 (float32:
// 1e-38) are 0, so that sum ≥ 1e-100 (1e-10) loses nothing that counts; call
// RowExp otherwise. With shift = −α_i/ε and h = β/ε it writes a row of the plan.
func (k Kernels[T]) RowExpAt(dst, h, c []T, inv, shift T) (sum T) {
	same("RowExpAt", len(h), len(c))
	same("RowExpAt", len(h), len(dst))
	if f := k.form(); f != plain {
		return T(asmDenseExp(f, at(dst), at(h), at(c), len(h), float64(inv), float64(shift)))
	}
	for j, v := range h {
		dst[j] = plainExp(v - c[j]*inv - shift)
		sum += dst[j]
	}
	return sum
}

// RowExpScaled writes t_j = exp((h_j − c_j − shift)·scale) to dst and returns
// Σ_j t_j. With h = β, shift = RowMax(β, c, 1) and scale = 1/ε this is RowExp
// with differences taken before they are divided by ε: one rounding of β − c,
// however large costs are against ε.
func (k Kernels[T]) RowExpScaled(dst, h, c []T, shift, scale T) (sum T) {
	same("RowExpScaled", len(h), len(c))
	same("RowExpScaled", len(h), len(dst))
	if f := k.form(); f != plain {
		return T(asmDenseExpScaled(f, at(dst), at(h), at(c), len(h), 1, float64(shift), float64(scale)))
	}
	for j, v := range h {
		dst[j] = plainExp((v - c[j] - shift) * scale)
		sum += dst[j]
	}
	return sum
}

// RowLSE returns log Σ_j exp(h_j − c_j·inv), −Inf for a row of nothing but
// −Inf. It reads the row once: a running shift is raised only when an argument
// exceeds it by 16, and the last step adds shift and log(sum) with one rounding.
// Beside the rounding of the arguments the error is at most 4e-15 (float32:
// 2e-6), where the first arguments are small against the last; RowExp and a
// logarithm err by less. Any NaN, and +Inf, gives NaN.
func (k Kernels[T]) RowLSE(h, c []T, inv T) T {
	same("RowLSE", len(h), len(c))
	if f := k.form(); f != plain {
		var first T
		if len(c) > 0 {
			first = c[0] * inv
		}
		return onePass(startAt(h, first), func(start float64) (shift, sum float64) {
			return asmDenseLSE(f, at(h), at(c), len(h), float64(inv), start)
		})
	}
	top := k.RowMax(h, c, inv)
	sum := T(0)
	for j, v := range h {
		sum += plainExp(v - c[j]*inv - finite(top))
	}
	return logSum(top, sum)
}
