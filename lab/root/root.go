// Package root finds where monotone functions cross a value.
package root

import "math"

// Increasing returns the least x in (lo, hi], up to rounding, with f(x) ≥ y, where f is nondecreasing, f(lo) < y and
// f(hi) ≥ y. It is Chandrupatla's method: inverse quadratic interpolation where that is safe, else bisection.
func Increasing(f func(float64) float64, y, lo, hi float64) float64 {
	if math.IsInf(lo, 0) {
		return lo
	}
	if math.IsInf(hi, 0) {
		return hi
	}
	a, b := hi, lo
	fa, fb := f(a)-y, f(b)-y
	var c, fc float64
	t := 0.5
	for range 200 {
		x := a + t*(b-a)
		fx := f(x) - y
		if (fx >= 0) == (fa >= 0) {
			c, fc = a, fa
		} else {
			c, fc = b, fb
			b, fb = a, fa
		}
		a, fa = x, fx
		xm := a
		if math.Abs(fb) < math.Abs(fa) {
			xm = b
		}
		if fx == 0 {
			return a
		}
		tol := math.Abs(xm)*1.2e-16 + 1e-320
		least := tol / math.Abs(b-a)
		if least > 0.5 {
			return xm
		}
		t = min(1-least, max(least, step(a, fa, b, fb, c, fc)))
	}
	return a
}

// step returns where in [a, b] to look next, as a fraction.
func step(a, fa, b, fb, c, fc float64) float64 {
	xi, phi := (a-b)/(c-b), (fa-fb)/(fc-fb)
	if phi*phi < xi && (1-phi)*(1-phi) < 1-xi {
		t := fa/(fb-fa)*fc/(fb-fc) + (c-a)/(b-a)*fa/(fc-fa)*fb/(fc-fb)
		if t > 0 && t < 1 {
			return t
		}
	}
	return 0.5
}

// Least returns the least x > lo with ok(x), to the last digit, for an ok that is false at lo and
// is true from some x on: it doubles the step until ok holds, and bisects. It returns false where
// ok does not hold up to 1e300.
func Least(ok func(x float64) bool, lo, step float64) (float64, bool) {
	hi := lo + step
	for ; !ok(hi); step *= 2 {
		if lo, hi = hi, hi+2*step; hi > 1e300 {
			return hi, false
		}
	}
	return Bisect(ok, lo, hi), true
}

// Bisect returns the least x in (lo, hi] with ok(x), to the last digit, for an ok that is false at lo and true at hi.
func Bisect(ok func(x float64) bool, lo, hi float64) float64 {
	for hi-lo > 1e-300 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if ok(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}
