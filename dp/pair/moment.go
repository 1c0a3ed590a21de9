package pair

import (
	"math"

	"coupling/lab/logspace"
)

// logExcess returns log h(L), h(L) = e^(αL) − 1 − α(e^L − 1) = e^L(e^(βL) − 1) − β(e^L − 1) ≥ 0 with β = α − 1 > 0.
// E_Q[h(L)] is the moment minus one, because E_Q[e^L] = 1; it keeps its relative accuracy when the loss is tiny.
func logExcess(beta, loss float64) float64 {
	switch {
	case math.Abs((beta+1)*loss) < 0.25:
		return logExcessSeries(beta, loss)
	case loss > 0 && beta*loss > 40+math.Log1p(beta):
		return (beta + 1) * loss // the rest is below e^−40 of it
	case loss > 0:
		return loss + logspace.Log(math.Expm1(beta*loss)+beta*math.Expm1(-loss))
	}
	return logspace.Log(math.Exp(loss)*math.Expm1(beta*loss) - beta*math.Expm1(loss))
}

// logExcessSeries sums Σ_{n≥2} (αⁿ − α) Lⁿ/n! = α Σ (αⁿ⁻¹ − 1) Lⁿ/n!, for |αL| < 1/4, where 16
// terms suffice.
func logExcessSeries(beta, loss float64) float64 {
	logAlpha := math.Log1p(beta)
	sum, power := 0.0, loss
	for n := 2.0; n < 18; n++ {
		power *= loss / n
		term := math.Expm1((n-1)*logAlpha) * power
		sum += term
		if math.Abs(term) < 1e-18*math.Abs(sum) {
			break
		}
	}
	if sum <= 0 {
		return math.Inf(-1)
	}
	return logspace.Log(sum) + logAlpha
}

// momentFromExcess turns log of E_Q[h] with its relative error into K = log(1 + E_Q[h]) with an absolute one.
func momentFromExcess(logM, relErr float64) (k, errBound float64) {
	k = logspace.OnePlusExp(logM)
	// dK = dM/(1+M) ≤ min(M, 1)·relErr, plus rounding of the exponents.
	share := math.Exp(min(0, logM))
	return k, share*relErr + 1e-15*k
}

// LogMoment returns K(α) = log ∫ p^α q^(1−α) with a bound on its error. Where quadrature would take too long it is
// the bound (α−1)·D_α of the two furthest components (quasi-convexity), which is an upper bound.
func (m *Mixture) LogMoment(alpha float64) (k, errBound float64) {
	k, known := trivialMoment(alpha)
	switch {
	case known || m.min == m.max:
		return k, 0
	case math.IsInf(alpha, 1):
		return m.max * math.Inf(1), 0
	}
	logM, relErr, ok := 0.0, 0.0, false
	_, integrals := m.forms.(integrated)
	if integrals || len(m.p) > 1 || len(m.q) > 1 { // else the closed form is exact
		logM, relErr, ok = m.logExcessMoment(alpha - 1)
	}
	if !ok {
		k = m.forms.furthest(alpha, (m.right-m.left)/m.scale)
		return k, 4e-15 * k
	}
	return momentFromExcess(logM, relErr+m.RelErr())
}

// integrable is a line whose moments this package can integrate.
type integrable interface {
	Line
	span(beta float64) []float64                    // where to integrate q·h, split at breaks
	logDensityBound(a, b float64) float64           // an upper bound of log q on [a, b]
	tilted(alpha, a, b float64) float64             // an upper bound of log(q e^(αL)) on [a, b]
	cell(beta float64) (width, slack, peak float64) // see positive
	rounding(x float64) float64                     // of log q at x, beyond that of its size
}

// integrateLoss returns log ∫ q·exp(logH(L)) over the breaks, for a logH that falls for L < 0 and
// rises for L > 0 (so that on an interval it is largest at an end) and is at most αL for L ≥ 0.
func integrateLoss(l integrable, beta float64, breaks []float64,
	logH func(loss float64) float64) (logI, relErr float64, ok bool) {
	width, slack, peak := l.cell(beta)
	lossAt := func(x float64) float64 { _, loss := l.At(x); return loss }
	f := positive{
		log: func(x float64) float64 {
			lq, loss := l.At(x)
			return lq + logH(loss)
		},
		bound: func(a, b float64) float64 {
			la, lb := lossAt(a), lossAt(b)
			u := l.logDensityBound(a, b) + max(logH(la), logH(lb)) + 1e-9
			if la >= 0 {
				u = min(u, l.tilted(1+beta, a, b))
			}
			return u
		},
		noise: func(x float64) float64 {
			lq, loss := l.At(x)
			return 4e-16*(math.Abs(lq)+(1+beta)*math.Abs(loss)) + l.rounding(x)
		},
		width: width,
		slack: slack,
		peak:  peak,
	}
	if m, mixed := l.(*Mixture); mixed {
		f.most = min(maxCells, max(leastCells, maxNoises/(32*(len(m.p)+len(m.q)))))
	}
	return f.integrate(breaks)
}

// tilted bounds log(q e^(αL)) = log f_c + αA − βB on [a, b], where A and B, the logs of p/f_c and
// q/f_c, are convex between breaks: A is at most its chord, B at least a tangent, and the remainder
// is a parabola (or a line, for Laplace). For other noise nothing is known.
func (m *Mixture) tilted(alpha, a, b float64) float64 {
	if _, integrals := m.forms.(integrated); integrals {
		return math.Inf(1)
	}
	ta, tb := (a-m.centre)/m.scale, (b-m.centre)/m.scale
	tm := ta + (tb-ta)/2
	pa, pb := m.logRatio(m.pOut, m.pLogs, ta), m.logRatio(m.pOut, m.pLogs, tb)
	qm, slope := m.logRatio(m.qOut, m.qLogs, tm), m.slope(m.qLogs, tm)
	beta := alpha - 1
	tilt := alpha*(pb-pa)/(tb-ta) - beta*slope
	at := func(t float64) float64 {
		return m.logNoise(t) + alpha*(pa+(pb-pa)*((t-ta)/(tb-ta))) - beta*(qm+slope*(t-tm))
	}
	u := max(at(ta), at(tb))
	if m.noise == Gaussian {
		u = max(u, at(min(max(tilt, ta), tb)))
	}
	return u + 1e-9 + 1e-14*(alpha*max(math.Abs(pa), math.Abs(pb))+beta*math.Abs(qm)+ta*ta+tb*tb)
}

// slope returns the derivative of logRatio in t.
func (m *Mixture) slope(all []shift, t float64) float64 {
	top := math.Inf(-1)
	for i := range all {
		top = max(top, all[i].logW+m.noise.LogRatio(t, all[i].d))
	}
	sum, weighted := 0.0, 0.0
	for i := range all {
		w := math.Exp(all[i].logW + m.noise.LogRatio(t, all[i].d) - top)
		sum += w
		weighted += w * m.forms.slope(t, all[i].d)
	}
	return weighted / sum
}

func (m *Mixture) cell(beta float64) (width, slack, peak float64) {
	width = 2 * m.scale
	switch {
	case m.noise != Gaussian: // boundary layers where the integrand rises like e^(2αx/λ)
		return width, 60, width / (1 + beta)
	case len(m.qOut) == 0:
		return width, math.Inf(1), width
	}
	// Powers of a mixture in the denominator make peaks that are narrower than the noise: the
	// second derivative of the log of the integrand is at least −1/σ² − β Var/σ⁴, with Var at most
	// a quarter of the squared span of Q.
	d := (m.centre - m.left) / m.scale
	return width, 60, 2 * m.scale / math.Sqrt(1+beta*d*d/4)
}

func (m *Mixture) rounding(float64) float64 { return 0 }

// span covers q·h: to the left it is at most q·β.
func (m *Mixture) span(beta float64) []float64 {
	if m.flat {
		return m.means()
	}
	d := (m.right - m.left) / m.scale
	return []float64{m.left - m.scale*m.noise.Reach(0, d), m.left, m.right,
		m.right + m.scale*m.noise.Reach(beta, d)}
}

// logExcessMoment integrates q·h(L): quadrature between the ends, and for Laplace the two flat ends in closed form.
func (m *Mixture) logExcessMoment(beta float64) (logM, relErr float64, ok bool) {
	span := m.span(beta)
	if math.IsInf(span[len(span)-1], 0) {
		return 0, 0, false
	}
	logM, relErr, ok = integrateLoss(m, beta, span, func(l float64) float64 { return logExcess(beta, l) })
	if m.flat {
		logM = logspace.Add(logM, m.logMass(m.q, m.left, -1)+logExcess(beta, m.min))
		logM = logspace.Add(logM, m.logMass(m.q, m.right, 1)+logExcess(beta, m.max))
	}
	return logM, relErr, ok
}

// logDensityBound bounds log q from above on [a, b].
func (m *Mixture) logDensityBound(a, b float64) float64 {
	s := logspace.Zero()
	for _, c := range m.q {
		s.Add(c.LogWeight + m.logNoise(max(a-c.Mean, c.Mean-b, 0)/m.scale))
	}
	return s.Log() + 1e-9
}
