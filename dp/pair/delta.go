package pair

import (
	"math"

	"coupling/lab/logspace"
	"coupling/lab/root"
)

// LogDelta returns log δ(ε). With x* the threshold, c the centre and a, b the exponents of the
// components relative to it,
//
//	p − e^ε q = f_c(x)·{ Σ w (e^a(x) − e^a(x*)) + e^ε Σ v (e^b(x*) − e^b(x)) },
//
// in which every term is positive for x > x*. Negative ε go through the swapped pair.
func (m *Mixture) LogDelta(eps float64) float64 {
	switch {
	case math.IsNaN(eps):
		return math.NaN()
	case eps >= m.max:
		return math.Inf(-1)
	case eps <= m.min:
		return logspace.Log(-math.Expm1(eps)) // p ≥ e^ε q everywhere
	case eps < 0:
		return reflectDelta(eps, m.other().LogDelta(-eps))
	}
	return m.deltaAt(eps, m.Threshold(eps))
}

// DeltaTails returns LogDelta and LogTails at one ε, at the cost of one of them.
func (m *Mixture) DeltaTails(eps float64) (logDelta, logP, logQ float64) {
	if !(eps >= 0 && eps > m.min && eps < m.max) {
		logP, logQ = m.LogTails(eps)
		return m.LogDelta(eps), logP, logQ
	}
	x := m.Threshold(eps)
	return m.deltaAt(eps, x), m.logMass(m.p, x, 1), m.logMass(m.q, x, 1)
}

// deltaAt is log δ(ε) with x the threshold of ε.
func (m *Mixture) deltaAt(eps, x float64) float64 {
	if math.IsInf(x, 1) {
		return math.Inf(-1)
	}
	t := (x - m.centre) / m.scale
	s := logspace.Zero()
	for i := range m.pOut {
		s.Add(m.pOut[i].logW + m.forms.gain(t, m.pOut[i].d))
	}
	for i := range m.qOut {
		s.Add(eps + m.qOut[i].logW + m.forms.gain(t, m.qOut[i].d))
	}
	return min(0, s.Log())
}

// Threshold returns the smallest x with L(x) ≥ ε: −Inf at or below the smallest loss, +Inf above the largest.
func (m *Mixture) Threshold(eps float64) float64 {
	switch {
	case math.IsNaN(eps):
		return math.NaN()
	case eps <= m.min:
		return math.Inf(-1)
	case eps > m.max || (!m.flat && eps == m.max):
		return math.Inf(1)
	case m.closed:
		return m.centre + m.scale*m.closedThreshold(eps)
	case m.flat:
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
