package pair

import (
	"math"

	"coupling/dp/internal/logspace"
	"coupling/dp/internal/root"
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
		return root.Increasing(m.loss, eps, m.left, m.right)
	}
	lo, hi := m.bracket(eps)
	return root.Increasing(m.loss, eps, lo, hi)
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
