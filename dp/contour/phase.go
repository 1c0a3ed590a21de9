package contour

import (
	"math"

	"coupling/lab/logspace"
)

// worthPhaseBound is the number of nodes above which a line computes its turn.
const worthPhaseBound = 400

// A phaseBound bounds how the integrand p^{z+1} q^{−z} grows off the real axis, point by point:
// where one component of a mixture dominates, its phase hardly changes. At x + ib, with E the
// posterior mean distance of the component from the extreme one and span the width of the means, |Σ
// π e^{ibm}|² ≥ 1 − b²·span·E and |arg| ≤ b·E/(1 − b²·span·E/2). E is monotone in x, so that the
// bounds at the ends of a cell hold within.
type phaseBound struct {
	pair *scaled
	s    float64
	// log of upper bounds of the mass of p^{s+1}q^{−s} in cells of the whole line, over a lower
	// bound of the sum
	log     []float64
	ep, eq  []float64 // upper bounds of E in the cell, for P and Q
	scratch []float64
}

func newPhaseBound(pair *scaled, s, lo, hi float64) *phaseBound {
	h := fewBits((hi - lo) / 256)
	first := int(math.Floor(lo / h))
	lo = float64(first) * h
	n := int(math.Ceil((hi - lo) / h))
	hi = lo + float64(n)*h
	rows := pair.at(h, first, n+1)
	lm := make([]float64, n+1)
	top := math.Inf(-1)
	for j, r := range rows {
		x := lo + float64(j)*h
		lm[j] = -x*x/2 + r.p + s*(r.p-r.q)
		top = max(top, lm[j])
	}
	t := &phaseBound{pair: pair, s: s}
	floor := 0.0
	add := func(mass, p, q float64) {
		t.log = append(t.log, logspace.Log(mass))
		t.ep = append(t.ep, max(0, p-pair.p.min)*(1+1e-9))
		t.eq = append(t.eq, max(0, pair.q.max-q)*(1+1e-9))
	}
	for j := range n {
		x := lo + float64(j)*h
		a, b := rows[j], rows[j+1]
		fall := (s+1)*a.pMean - s*b.qMean - (x + h)
		rise := (s+1)*b.pMean - s*a.qMean - x
		add(h*math.Exp(min(lm[j]-top+h*max(rise, 0), lm[j+1]-top-h*min(fall, 0))), b.pMean, a.qMean)
		floor += h * math.Exp(max(lm[j]-top+h*min(fall, 0), lm[j+1]-top-h*max(rise, 0)))
	}
	add(math.Exp(lm[0]-top)/((s+1)*pair.p.min-s*pair.q.max-lo), rows[0].pMean, pair.q.min)
	add(math.Exp(lm[n]-top)/(hi-pair.pull(s, hi)), pair.p.max, rows[n].qMean)
	for j := range t.log {
		t.log[j] += 1e-9 - logspace.Log(floor)
	}
	return t
}

// growth bounds log of ∫|p^{z+1}q^{−z}| on Im x = b over the integral on the real axis, without the factor e^{b²/2}.
func (t *phaseBound) growth(b, y float64) float64 {
	sp, sq := t.pair.p.span(), t.pair.q.span()
	y = math.Abs(y)
	sum, top, cosine := 0.0, math.Inf(-1), logspace.Log(math.Cos(b*sq/2))
	if t.scratch == nil {
		t.scratch = make([]float64, len(t.log))
	}
	for j, m := range t.log {
		g := m + y*(b*t.pair.p.min+phase(b, sp, t.ep[j])+phase(b, sq, t.eq[j]))
		if sq > 0 {
			g -= t.s * max(cosine, 0.5*math.Log1p(-min(1, b*b*sq*t.eq[j])))
		}
		t.scratch[j] = g
		top = max(top, g)
	}
	for _, g := range t.scratch {
		if g > top-40 {
			sum += math.Exp(g - top)
		}
	}
	return top + logspace.Log(sum) + 1e-9
}

// phase bounds the argument of Σ π e^{ibm}, 0 ≤ m ≤ span, Σ π m ≤ mean.
func phase(b, span, mean float64) float64 {
	if d := 1 - b*b*span*mean/2; d > 0 {
		return b * min(span, mean/d)
	}
	return b * span
}
