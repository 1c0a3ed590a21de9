package contour

import (
	"fmt"
	"math"
	"math/cmplx"

	"coupling/lab/logspace"
)

// A line evaluates K(z) = log ∫ p^{z+1} q^{−z} of one loss on the vertical line Re z = s, |Im z| ≤ reach, by the
// trapezoidal rule in x. The integrand is analytic in a strip about the real axis, so that the rule converges
// exponentially in 1/h (Trefethen and Weideman 2014, Theorem 5.1); its error is bounded in strip.
//
// Where M(s) = e^{K(s)} is near 1 the line sums M(z) − 1 = ∫ p·[φ(zL) + z·φ(−L)], φ(w) = e^w − 1 − w, L = log p/q:
// no digits are lost however small the loss is, so that K may be multiplied by 1e9 steps.
type line struct {
	pair  *scaled
	s     float64
	reach float64 // largest |Im z| that h was chosen for
	h, b  float64 // step in x, half-width of the strip of analyticity
	x0    float64 // first node

	rows        []row
	loss, slack []float64 // L and a bound of its error, at each node
	p, q        []float64 // h·p, h·q
	tilt        []float64 // h·p·e^{sL}, times e^{−base}
	base        float64
	near        bool    // M(z) − 1 is summed
	kl          float64 // ∫ p·φ(−L) = E_P[L]
	k0          float64 // K(s)
	e0          float64 // bound of the relative error of M(s)

	local *phaseBound // sharper growth of the integrand off the real axis, where it was worth computing

	// Bounds for the error of a sum, see errors and edges.
	quad, lin, phase, flat float64
	edgeTilt, edgeP, edgeQ float64 // what the nodes left out hold, in units of M(s) resp. 1
}

// maxNodes bounds the quadrature nodes of one line.
const maxNodes = 1 << 16

// maxRatios bounds the evaluations of components at the nodes of one line.
const maxRatios = 1 << 22

// newLine prepares a line of at least fewest nodes, whose sums are in error by about e^{−digits}, relative to M(s).
func newLine(pair *scaled, s, reach, digits float64, fewest int) (*line, error) {
	l, lo, n, err := planLine(pair, s, reach, digits, fewest)
	switch {
	case err != nil:
		return nil, err
	case n == 0:
		l.k0 = real(l.gauss(complex(s, 0)))
		l.e0 = 8 * ulp * math.Abs(l.k0)
	default:
		l.nodes(lo, n)
	}
	return l, nil
}

// planLine chooses the step of a line and its n nodes from lo on, 0 if both sides are normal: then K is known.
func planLine(pair *scaled, s, reach, digits float64, fewest int) (l *line, lo float64, n int, err error) {
	l = &line{pair: pair, s: s, reach: reach}
	if pair.gaussian() {
		return l, 0, 0, nil
	}
	digits += logspace.Log(3 + s + reach)
	margin := math.Sqrt(2*digits) + 2
	lo = pair.q.min - margin
	hi := pair.upper(s, margin)
	l.step(digits)
	if reach > 0 && hi-lo > worthPhaseBound*l.h {
		l.local = newPhaseBound(pair, s, lo, hi)
		l.step(digits)
	}
	if l.h*float64(fewest) > hi-lo {
		l.h = fewBits((hi - lo) / float64(fewest))
	}
	count := (hi - lo) / l.h
	if !(count < maxNodes && count*float64(len(pair.p.m)+len(pair.q.m)) < min(maxRatios, pair.ratios)) {
		return nil, 0, 0, fmt.Errorf("contour: %.3g quadrature nodes at order %.3g and frequency %.3g: %w", count, s,
			reach, ErrCost)
	}
	return l, lo, int(count) + 2, nil
}

// step chooses the half-width b of the strip that allows the largest step h, for an error of e^{−digits}.
func (l *line) step(digits float64) {
	sp, sq := l.pair.p.span(), l.pair.q.span()
	limit := 24.0
	if w := max(sp, sq); w > 0 {
		limit = min(limit, 0.98*math.Pi/w)
	}
	const tries = 24
	for i := 1; i <= tries; i++ {
		b := limit * float64(i) / tries
		h := 2 * math.Pi * b / (digits + l.growth(b, l.reach))
		if h > l.h {
			l.h, l.b = h, b
		}
	}
	l.h = fewBits(l.h)
}

// fewBits rounds h down to three bits, so that every node j·h is exact, and lines share their nodes.
func fewBits(h float64) float64 {
	frac, exp := math.Frexp(h)
	return math.Ldexp(math.Floor(frac*8)/8, exp)
}

// growth bounds log of ∫|p^{z+1} q^{−z}| on the line Im x = b, less K(s): mixture densities grow there by e^{b²/2},
// Q falls short of that by at most the cosine of half the spread of its phases, and the loss turns by at most b·reach.
func (l *line) growth(b, y float64) float64 {
	g := b*b/2 + math.Abs(y)*b*l.pair.reach
	if l.local != nil {
		return min(b*b/2+l.local.growth(b, y), g+l.cosines(b))
	}
	return g + l.cosines(b)
}

// cosines bounds the loss of |q| against its value on the real axis, to the power −s.
func (l *line) cosines(b float64) float64 {
	if sq := l.pair.q.span(); sq > 0 && l.s > 0 {
		return -l.s * logspace.Log(math.Cos(b*sq/2))
	}
	return 0
}

// strip bounds the quadrature error of M(z), in units of M(s).
func (l *line) strip(y float64) float64 {
	decay := 2 * math.Pi * l.b / l.h
	e := 2 * math.Exp(l.growth(l.b, y)-decay)
	if l.near {
		e += 2 * math.Exp(l.b*l.b/2-decay) * (1 + 2*math.Hypot(l.s+1, y))
	}
	e /= -math.Expm1(-decay)
	return e * 1.001
}

const logSqrt2Pi = 0.91893853320467274178

func (l *line) nodes(lo float64, n int) {
	back := make([]float64, 5*n)
	l.loss, l.slack, l.p, l.q, l.tilt = back[:n:n], back[n:2*n:2*n], back[2*n:3*n:3*n], back[3*n:4*n:4*n], back[4*n:]
	first := int(math.Floor(lo / l.h))
	l.x0 = float64(first) * l.h
	l.rows = l.pair.at(l.h, first, n)
	logh := logspace.Log(l.h)
	weight := make([]float64, n) // bound of the relative error of p
	l.base = math.Inf(-1)
	for j, r := range l.rows {
		x := l.x0 + float64(j)*l.h
		lp := logh - logSqrt2Pi - x*x/2 + r.p
		d := r.p - r.q
		l.loss[j] = d
		l.slack[j] = r.pErr + r.qErr + ulp*math.Abs(d)
		l.p[j] = math.Exp(lp)
		l.q[j] = math.Exp(lp - d)
		l.tilt[j] = lp + l.s*d
		weight[j] = r.pErr + r.qErr + ulp*(8+2*x*x+2*math.Abs(logh)+2*math.Abs(l.s*d))
		l.base = max(l.base, l.tilt[j])
	}
	sum := 0.0
	for j := range n {
		sum += math.Exp(l.tilt[j] - l.base)
	}
	if l.near = l.base+logspace.Log(sum) < 1; l.near {
		l.base = 0
	} else {
		l.base += logspace.Log(sum)
	}
	for j := range n {
		l.tilt[j] = math.Exp(l.tilt[j] - l.base)
	}
	l.errors(weight)
	k, e, _ := l.at(complex(l.s, 0))
	l.k0, l.e0 = real(k), e
}

// errors gathers the bounds that at uses: with relative errors w of p·e^{sL}, slack of L, and a constant for the
// elementary functions, a sum of p·φ(zL) is in error by |z|²·quad, of z·p·φ(−L) by |z|·lin; a plain sum of p·e^{zL}
// by flat + |z|·phase.
func (l *line) errors(weight []float64) {
	n := len(l.p)
	u := float64(n+200) * ulp
	for j, x := range l.loss {
		up, dn := max(l.p[j], l.tilt[j]), max(l.p[j], l.q[j])
		if !l.near {
			up = l.tilt[j]
		}
		l.quad += up * (x*x/2*(weight[j]+u) + math.Abs(x)*l.slack[j])
		l.lin += dn * (x*x/2*(weight[j]+u) + math.Abs(x)*l.slack[j])
		l.phase += l.tilt[j] * (l.slack[j] + 4*ulp*math.Abs(x))
		l.flat += l.tilt[j] * (weight[j] + u)
		if l.near {
			l.kl += phiReal(-x, l.p[j], l.q[j])
		}
	}
	l.edges()
}

// edges bounds what the trapezoidal sum beyond the first and last node would add: there the logarithmic
// derivative of p^{s+1}q^{−s} is at least the distance to the extreme means, so that Mills' ratio applies.
func (l *line) edges() {
	n := len(l.p)
	lo, hi := l.x0, l.x0+float64(n-1)*l.h
	s, p, q := l.s, &l.pair.p, &l.pair.q
	side := func(j int, dt, dp, dq float64) {
		l.edgeTilt += l.tilt[j] / l.h / dt
		l.edgeP += l.p[j] / l.h / dp
		l.edgeQ += l.q[j] / l.h / dq
	}
	side(0, (s+1)*p.min-s*q.max-lo, p.min-lo, q.min-lo)
	side(n-1, hi-l.pair.pull(s, hi), hi-p.max, hi-q.max)
}

// at returns K(z) on the line, a bound of the relative error of M(z) = e^{K(z)}, and an upper bound of Re K(z), which
// still means something where M(z) is lost in errors.
func (l *line) at(z complex128) (k complex128, e, top float64) {
	if l.pair.gaussian() {
		k = l.gauss(z)
		e = 8 * ulp * cmplx.Abs(k)
		return k, e, real(k) + e
	}
	r, y := cmplx.Abs(z), imag(z)
	if !l.near {
		m := l.plain(y)
		a := cmplx.Abs(m)
		e = l.flat + r*l.phase + l.strip(y) + l.edgeTilt
		lm := cmplx.Log(m)
		round := 2 * ulp * math.Abs(l.base)
		return complex(l.base, 0) + lm, e/a + round, l.base + logspace.Log(a+e) + round + 4*ulp
	}
	m := l.centred(z)
	e = r*r*l.quad + r*l.lin + l.strip(y)*3 + l.edgeTilt + (1+r)*l.edgeP + r*l.edgeQ
	k = log1p(m)
	a, round := cmplx.Abs(1+m), 8*ulp*cmplx.Abs(m)
	return k, e/a + round, logspace.Log(a+e) + round + 4*ulp
}

// gauss is K of two single normals at distance reach.
func (l *line) gauss(z complex128) complex128 {
	d := l.pair.reach
	return z * (z + 1) * complex(d*d/2, 0)
}

// plain returns Σ p·e^{zL}, scaled.
func (l *line) plain(y float64) complex128 {
	re, im := 0.0, 0.0
	for j, x := range l.loss {
		if t := l.tilt[j]; t > 0 {
			sin, cos := math.Sincos(y * x)
			re += t * cos
			im += t * sin
		}
	}
	return complex(re, im)
}

// centred returns M(z) − 1.
func (l *line) centred(z complex128) complex128 {
	s, y := real(z), imag(z)
	re, im := 0.0, 0.0
	for j, x := range l.loss {
		a, b := s*x, y*x
		if w := a*a + b*b; w < 0.25 {
			c, d := phiSeries(a, b, terms(w))
			re += l.p[j] * c
			im += l.p[j] * d
			continue
		}
		sin, cos := math.Sincos(b)
		re += l.tilt[j]*cos - l.p[j] - l.p[j]*a
		im += l.tilt[j]*sin - l.p[j]*b
	}
	return complex(re, im) + z*complex(l.kl, 0)
}

// terms is the number of terms that phiSeries needs for arguments of a squared size up to w: the first
// omitted one, |arg|^n/(n+2)!, is below 2^{−53} of ½.
func terms(w float64) int {
	switch {
	case w < 1e-10:
		return 3
	case w < 1e-6:
		return 5
	case w < 3.7e-3:
		return 8
	case w < .066:
		return 11
	default:
		return len(inverseFactorial)
	}
}

// inverseFactorial holds 1/2!, 1/3!, …: the first omitted term is below 2^{−53} of the first at |w| = ½.
var inverseFactorial = [...]float64{
	1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800,
	1.0 / 39916800,
	1.0 / 479001600, 1.0 / 6227020800, 1.0 / 87178291200, 1.0 / 1307674368000, 1.0 / 20922789888000,
}

// phiSeries returns φ(a+ib) = e^w − 1 − w by n terms of its series.
func phiSeries(a, b float64, n int) (re, im float64) {
	for i := n - 1; i >= 0; i-- {
		re, im = re*a-im*b+inverseFactorial[i], re*b+im*a
	}
	c, d := a*a-b*b, 2*a*b
	return re*c - im*d, re*d + im*c
}

// phiReal returns p·φ(w), where q = p·e^w.
func phiReal(w, p, q float64) float64 {
	if math.Abs(w) < 0.5 {
		c, _ := phiSeries(w, 0, len(inverseFactorial))
		return p * c
	}
	return q - p - p*w
}

// log1p is log(1+m) without loss for small m.
func log1p(m complex128) complex128 {
	a, b := real(m), imag(m)
	if math.Abs(a) > 0.25 || math.Abs(b) > 0.5 {
		return cmplx.Log(1 + m)
	}
	return complex(0.5*math.Log1p(2*a+a*a+b*b), math.Atan2(b, 1+a))
}

// moments returns the mean and variance of the loss under the tilted law at s, to a few digits: they only steer.
func (l *line) moments() (mean, variance float64) {
	if l.pair.gaussian() {
		d := l.pair.reach * l.pair.reach
		return d * (l.s + 0.5), d
	}
	total := 1.0
	if l.near {
		total, mean = 1+math.Expm1(l.k0), l.kl
	}
	for j, x := range l.loss {
		d := l.tilt[j]
		switch {
		case l.near && math.Abs(l.s*x) < 0.1:
			d = l.p[j] * math.Expm1(l.s*x)
		case l.near:
			d -= l.p[j]
		}
		mean += d * x
	}
	mean /= total
	for j, x := range l.loss {
		variance += l.tilt[j] * (x - mean) * (x - mean) / total
	}
	return mean, variance
}
