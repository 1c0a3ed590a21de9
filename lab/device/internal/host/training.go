package host

import (
	"math"

	"coupling/lab/device/cpu"
)

// CrossEntropy writes losses and gradients of logits.
func (e *engine[T]) CrossEntropy(loss, grad, logits, labels tensor) {
	k := logits.Shape[1]
	ls, gs, xs, at := view[T](loss), view[T](grad), view[T](logits), view[int32](labels)
	e.once(func() { e.err = inRange("labels", at, k) })
	e.items(len(ls), per(16*k), func(i int) {
		x, g := xs[i*k:(i+1)*k], gs[i*k:(i+1)*k]
		label := int(at[i])
		own, top := x[label], largest(x) // before g, which may be x
		total := e.k.ExpAt(g, x, top)
		ls[i] = T(math.Log(float64(total)) + (float64(top) - float64(own)))
		e.k.Scale(g, 1/total, g)
		g[label]--
	})
}

// ClipRows scales rows to norm at most bound.
func (e *engine[T]) ClipRows(dst, x tensor, bound float64) {
	n, d := x.Shape[0], x.Shape[1]
	to, from := view[T](dst), view[T](x)
	down := 1 - 0x1p-23 // by more than norm, quotient and products round up
	if is64[T]() {
		down = 1 - 0x1p-50
	}
	e.items(n, per(d), func(i int) {
		row, out := from[i*d:(i+1)*d], to[i*d:(i+1)*d]
		norm, unit := e.rowNorm(row)
		if norm/unit <= bound {
			copy(out, row)
			return
		}
		factor, last := bound/norm*down, unit
		if !(unit < 1 && factor <= 1) { // else factor·unit may be denormal
			factor, last = factor*unit, 1
		}
		for j, v := range row {
			out[j] = T(float64(v) * factor * last)
		}
	})
}

// rowNorm is norm/unit, the norm of a row: of float64 in twice the precision, also where squares, or the norm itself,
// leave the range of float64. The unit is a power of two.
func (e *engine[T]) rowNorm(x []T) (norm, unit float64) {
	if !is64[T]() {
		return math.Sqrt(e.k.WideDot(x, x)), 1
	}
	if norm := math.Sqrt(squares(x, 1)); norm > 0x1p-480 && norm < math.Inf(1) {
		return norm, 1
	}
	top := 0.0
	for _, v := range x {
		top = max(top, math.Abs(float64(v)))
	}
	if top == 0 || math.IsInf(top, 1) || math.IsNaN(top) {
		return top, 1
	}
	unit = math.Ldexp(1, max(-1000, min(-math.Ilogb(top), 1000)))
	return math.Sqrt(squares(x, unit)), unit
}

// squares is Σ (unit·x)² with the error of each product and sum carried along (Ogita, Rump and Oishi 2005, Dot2).
func squares[T cpu.Float](x []T, unit float64) float64 {
	var sum, lost float64
	for _, v := range x {
		v := float64(v) * unit
		p := v * v
		s := sum + p
		z := s - sum
		lost += (sum - (s - z)) + (p - z) + math.FMA(v, v, -p)
		sum = s
	}
	return sum + lost
}
