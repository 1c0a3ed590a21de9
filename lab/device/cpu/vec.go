package cpu

import "math"

// Axpy adds alpha·x to y.
func (k Kernels[T]) Axpy(y []T, alpha T, x []T) {
	same("Axpy", len(y), len(x))
	if f := k.form(); f != plain {
		asmAxpy(f, at(y), at(x), len(x), float64(alpha))
		return
	}
	for j, v := range x {
		y[j] += alpha * v
	}
}

// Scale writes alpha·x to dst, which may be x.
func (k Kernels[T]) Scale(dst []T, alpha T, x []T) {
	same("Scale", len(dst), len(x))
	if f := k.form(); f != plain {
		asmScale(f, at(dst), at(x), len(x), float64(alpha))
		return
	}
	for j, v := range x {
		dst[j] = alpha * v
	}
}

// Mul writes the products x_j·y_j to dst, which may be x or y.
func (k Kernels[T]) Mul(dst, x, y []T) {
	same("Mul", len(x), len(y))
	same("Mul", len(x), len(dst))
	if f := k.form(); f != plain {
		asmMul(f, at(dst), at(x), at(y), len(x))
		return
	}
	for j, v := range x {
		dst[j] = v * y[j]
	}
}

// Sqrt writes √x_j to dst, which may be x.
func (k Kernels[T]) Sqrt(dst, x []T) {
	same("Sqrt", len(dst), len(x))
	if f := k.form(); f != plain {
		asmSqrt(f, at(dst), at(x), len(x))
		return
	}
	for j, v := range x {
		dst[j] = T(math.Sqrt(float64(v)))
	}
}

// SiLU writes x_j/(1 + e^−x_j) to dst, which may be x: 0 for −Inf.
func (k Kernels[T]) SiLU(dst, x []T) {
	same("SiLU", len(dst), len(x))
	if f := k.form(); f != plain {
		asmSilu(f, at(dst), at(x), len(x))
		return
	}
	for j, v := range x {
		dst[j] = T(max(float64(v), -math.MaxFloat64) / (1 + math.Exp(-float64(v))))
	}
}

// SiLUSlope writes the products of SiLU's derivative at x_j with dy_j to dst, which may be x or dy.
func (k Kernels[T]) SiLUSlope(dst, x, dy []T) {
	same("SiLUSlope", len(dst), len(x))
	same("SiLUSlope", len(dst), len(dy))
	if f := k.form(); f != plain {
		asmSiluSlope(f, at(dst), at(x), at(dy), len(x))
		return
	}
	for j, v := range x {
		x := finiteOf(v)
		s, rest := 1/(1+math.Exp(-x)), 1/(1+math.Exp(x))
		dst[j] = T(s * (1 + x*rest) * float64(dy[j]))
	}
}

// finiteOf is v, the largest numbers for infinities.
func finiteOf[T Float](v T) float64 {
	if v == v {
		return max(-math.MaxFloat64, min(float64(v), math.MaxFloat64))
	}
	return float64(v)
}
