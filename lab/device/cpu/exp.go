package cpu

import "math"

// Exp writes e^x to dst, which may be x.
//
// The error is at most 2 units in the last place (measured: 1.2 for float64,
// 1.3 for float32; the plain version 1). Results under √2 times the smallest
// normal number, x < −708.05 or for float32 x < −86.99, are 0; −Inf gives 0,
// NaN gives NaN, an overflow +Inf.
func (k Kernels[T]) Exp(dst, x []T) {
	same("Exp", len(dst), len(x))
	if f := k.form(); f != plain {
		asmExp(f, at(dst), at(x), len(x))
		return
	}
	for j, v := range x {
		dst[j] = plainExp(v)
	}
}

// ExpAt writes e^(x−shift) to dst, which may be x, and returns the sum. A result within 5 % of the
// largest number or beyond it may be a number near that or +Inf, by instruction set, as in all
// kernels but Exp.
func (k Kernels[T]) ExpAt(dst, x []T, shift T) (sum T) {
	same("ExpAt", len(dst), len(x))
	if f := k.form(); f != plain {
		return T(asmPlainExp(f, at(dst), at(x), len(x), float64(shift)))
	}
	for j, v := range x {
		dst[j] = plainExp(v - shift)
		sum += dst[j]
	}
	return sum
}

// ExpScaled writes e^((x−shift)·scale) to dst, which may be x, and returns the
// sum. The difference is taken first: with x = β − c and scale = 1/ε, costs
// that are large against ε cancel before they are multiplied.
func (k Kernels[T]) ExpScaled(dst, x []T, shift, scale T) (sum T) {
	same("ExpScaled", len(dst), len(x))
	if f := k.form(); f != plain {
		return T(asmPlainExpScaled(f, at(dst), at(x), len(x), float64(shift), float64(scale)))
	}
	for j, v := range x {
		dst[j] = plainExp((v - shift) * scale)
		sum += dst[j]
	}
	return sum
}

// LogSumExp returns log Σ e^x, −Inf for no elements and for nothing but −Inf.
// It reads x once. Any NaN, and +Inf, gives NaN.
func (k Kernels[T]) LogSumExp(x []T) T {
	if f := k.form(); f != plain {
		return onePass(startAt(x, 0),
			func(start float64) (shift, sum float64) { return asmPlainLSE(f, at(x), len(x), start) })
	}
	top := k.Max(x)
	sum := T(0)
	for _, v := range x {
		sum += plainExp(v - finite(top))
	}
	return logSum(top, sum)
}

// expFloor is the argument under which an exponential is 0.
func expFloor[T Float]() float64 {
	if is64[T]() {
		return -1021.5 * math.Ln2
	}
	return -125.5 * math.Ln2
}

func plainExp[T Float](x T) T {
	switch v := float64(x); {
	case v < expFloor[T]():
		return 0
	case v > 709 && v < 1000: // math.Exp overflows a little early on amd64
		return T(math.Exp(v-1) * math.E)
	default:
		return T(math.Exp(v))
	}
}

// onePass is the log-sum-exp of a pass whose shift begins at start, the first
// argument: sums are then at least 1. Where they are not, start was rounded
// another way, and arguments are so large that this counts.
func onePass[T Float](start T, pass func(start float64) (shift, sum float64)) T {
	shift, sum := pass(float64(start))
	if sum < 0.5 {
		shift, sum = pass(float64(leastFinite[T]()))
	}
	return logSum(T(shift), T(sum))
}

// startAt is where the running shift begins: the first argument, h − p, if it
// is finite.
func startAt[T Float](h []T, p T) T {
	if len(h) == 0 {
		return leastFinite[T]()
	}
	x := h[0] - p
	if x-x != 0 {
		return leastFinite[T]()
	}
	return x
}

// finite replaces −Inf, the largest of nothing, by a shift that keeps −Inf.
func finite[T Float](top T) T {
	if math.IsInf(float64(top), -1) {
		return 0
	}
	return top
}

// logSum is shift + log(sum), rounded once where shift and log(sum) cancel.
func logSum[T Float](shift, sum T) T {
	if sum == 0 {
		return minusInf[T]()
	}
	const ln2Lo = 2.3190468138462996e-17 // ln 2 − math.Ln2 rounded
	v, e := float64(sum), 0.0
	if v < math.MaxFloat64 { // not for +Inf and NaN; v = frac·2^e, √½ < frac ≤ √2
		bits := math.Float64bits(v)
		e = float64(int(bits>>52) - 1023)
		v = math.Float64frombits(bits&(1<<52-1) | 1023<<52)
		if v > math.Sqrt2 {
			v, e = v/2, e+1
		}
	}
	return T(math.FMA(e, math.Ln2, float64(shift)) + math.FMA(e, ln2Lo, math.Log(v)))
}
