package host

import (
	"math"

	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
)

// Float32 functions made of an exponential take it in float64: differences such as eˣ − 1 then lose nothing that
// float32 could hold, and the vector exponential is fast enough in either type.

// usesExp reports whether f is one of them.
func usesExp(f backend.Unary) bool {
	switch f {
	case backend.ELU, backend.Softplus, backend.Tanh, backend.Sigmoid:
		return true
	}
	return false
}

// strip is the number of elements whose exponentials are taken together; three strips stay in the first-level cache.
const strip = 512

// mapExp is d = f(x) for a run of elements, or with dy given d = f'(x)·dy.
func (e *engine[T]) mapExp(d, x, dy []T, f backend.Unary, p float64) {
	k := cpu.Kernels[float64]{ISA: e.k.ISA}
	var buf [strip]float64
	for lo := 0; lo < len(d); lo += strip {
		n := min(strip, len(d)-lo)
		t, x, d := buf[:n], x[lo:lo+n], d[lo:lo+n]
		exponents(t, x, f, dy != nil)
		k.Exp(t, t)
		if dy != nil {
			finishSlope(d, dy[lo:lo+n], t)
		} else {
			finish(d, x, t, f, p)
		}
	}
}

// exponents writes the arguments of the exponential: min(x, 0) for ELU, −2|x| for tanh, −|x| for softplus, else −x.
func exponents[T cpu.Float](t []float64, x []T, f backend.Unary, slope bool) {
	t = t[:len(x)]
	switch {
	case f == backend.ELU:
		for i, v := range x {
			t[i] = min(float64(v), 0)
		}
	case f == backend.Tanh:
		for i, v := range x {
			t[i] = -2 * math.Abs(float64(v))
		}
	case f == backend.Softplus && !slope:
		for i, v := range x {
			t[i] = -math.Abs(float64(v))
		}
	default:
		for i, v := range x {
			t[i] = -float64(v)
		}
	}
}

// finish makes f(x) of x and its exponential t.
func finish[T cpu.Float](d, x []T, t []float64, f backend.Unary, p float64) {
	d, t = d[:len(x)], t[:len(x)]
	switch f {
	case backend.ELU:
		for i, v := range x {
			d[i] = T(max(float64(v), 0) + p*expm1(min(float64(v), 0), t[i]))
		}
	case backend.Tanh:
		for i, v := range x {
			d[i] = T(tanh(float64(v), t[i]))
		}
	case backend.Sigmoid:
		for i := range x {
			d[i] = T(1 / (1 + t[i]))
		}
	case backend.Softplus:
		for i, v := range x {
			d[i] = T(max(float64(v), 0) + log1p(t[i]))
		}
	}
}

// finishSlope makes softplus'(x)·g of t = e^−x.
func finishSlope[T cpu.Float](d, g []T, t []float64) {
	d, t = d[:len(g)], t[:len(g)]
	for i := range g {
		d[i] = T(float64(g[i]) / (1 + t[i]))
	}
}

// expm1 is t − 1 for t = eˣ, x ≤ 0, put between the bounds x and x·(1 + x/2), which meet where the difference cancels:
// good to 1e-8, relatively.
func expm1(x, t float64) float64 { return min(max(t-1, x), x*(1+x/2)) }

// tanh is (1 − t)/(1 + t) for t = e^−2|x|, with the sign of x.
func tanh(x, t float64) float64 {
	if math.Abs(x) < 1e-4 {
		return x - x*x*x/3
	}
	return math.Copysign((1-t)/(1+t), x)
}

// log1p is log(1 + t) for 0 ≤ t ≤ 1 to 1e-10, relatively: 2·artanh(s), s = t/(2+t) ≤ ⅓, nine terms of its series.
func log1p(t float64) float64 {
	s := t / (2 + t)
	z := s * s
	sum := 1. / 17
	sum = sum*z + 1./15
	sum = sum*z + 1./13
	sum = sum*z + 1./11
	sum = sum*z + 1./9
	sum = sum*z + 1./7
	sum = sum*z + 1./5
	sum = sum*z + 1./3
	sum = sum*z + 1
	return 2 * s * sum
}
