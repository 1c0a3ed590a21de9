package pair

import (
	"math"

	"coupling/dp/internal/logspace"
)

// Threshold returns the smallest x with L(x) ≥ ε: −Inf at or below the smallest loss, +Inf above the largest.
func (m *Mixture) Threshold(eps float64) float64 {
	switch {
	case math.IsNaN(eps):
		return math.NaN()
	case eps <= m.min:
		return math.Inf(-1)
	case eps > m.max || (m.noise == Gaussian && eps == m.max):
		return math.Inf(1)
	case m.closed:
		return m.centre + m.scale*m.closedThreshold(eps)
	case m.noise == Laplace:
		return rootIncreasing(m.loss, eps, m.left, m.right)
	}
	lo, hi := m.bracket(eps)
	return rootIncreasing(m.loss, eps, lo, hi)
}

// closedThreshold solves (1−r) + r e^a = e^ε with a = d(t − d/2) for t.
func (m *Mixture) closedThreshold(eps float64) float64 {
	s := m.pOut[0]
	if math.IsInf(m.pAt, -1) {
		return eps/s.d + s.d/2 // P is the shifted component alone
	}
	a := math.Log1p(math.Expm1(eps) / s.w)
	if !(a > -0.5 && a < 600) { // near the lower end, or out of range: e^ε − (1−r) as a difference of logs
		a = logspace.Sub(eps, m.pAt) - s.logW
	}
	return a/s.d + s.d/2
}

// bracket widens an interval about the centre until the loss at its ends is on both sides of ε.
func (m *Mixture) bracket(eps float64) (lo, hi float64) {
	step := m.scale + (m.right - m.left)
	for lo = m.centre; m.loss(lo) >= eps && !math.IsInf(lo, 0); step *= 4 {
		lo -= step
	}
	step = m.scale + (m.right - m.left)
	for hi = m.centre; m.loss(hi) < eps && !math.IsInf(hi, 0); step *= 4 {
		hi += step
	}
	return lo, hi
}

// rootIncreasing returns the least x in (lo, hi], up to rounding, with f(x) ≥ y, where f is nondecreasing, f(lo) < y and
// f(hi) ≥ y. It is Chandrupatla's method: inverse quadratic interpolation where that is safe, else bisection.
func rootIncreasing(f func(float64) float64, y, lo, hi float64) float64 {
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
		t = min(1-least, max(least, stepChandrupatla(a, fa, b, fb, c, fc)))
	}
	return a
}

// stepChandrupatla returns where in [a, b] to look next, as a fraction.
func stepChandrupatla(a, fa, b, fb, c, fc float64) float64 {
	xi, phi := (a-b)/(c-b), (fa-fb)/(fc-fb)
	if phi*phi < xi && (1-phi)*(1-phi) < 1-xi {
		t := fa/(fb-fa)*fc/(fb-fc) + (c-a)/(b-a)*fa/(fc-fa)*fb/(fc-fb)
		if t > 0 && t < 1 {
			return t
		}
	}
	return 0.5
}
