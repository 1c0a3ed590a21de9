package contour

import "math"

// worthTurn is the number of nodes above which a line computes its turn.
const worthTurn = 400

// A turn bounds how the integrand p^{z+1} q^{−z} grows off the real axis, point by point: where only one component of a
// mixture matters its phase hardly turns. At x + ib, with E the posterior mean distance of the component from the
// extreme one and span the width of the means, |Σ π e^{ibm}|² ≥ 1 − b²·span·E and |arg| ≤ b·E/(1 − b²·span·E/2).
// E is monotone in x, so that the bounds at the ends of a cell hold within.
type turn struct {
	pair    *scaled
	s       float64
	mass    []float64 // upper bounds of the mass of p^{s+1}q^{−s} in cells of the whole line, over a lower bound of the sum
	ep, eq  []float64 // upper bounds of E in the cell, for P and Q
	scratch []float64
}

func newTurn(pair *scaled, s, lo, hi float64) *turn {
	const n = 600
	h := (hi - lo) / n
	ep, eq, lm := make([]float64, n+1), make([]float64, n+1), make([]float64, n+1)
	top := math.Inf(-1)
	for j := range lm {
		x := lo + float64(j)*h
		a, _, e := pair.p.ratio(x)
		b, _, f := pair.q.ratio(x)
		ep[j], eq[j] = e, f
		lm[j] = -x*x/2 + a + s*(a-b)
		top = max(top, lm[j])
	}
	t := &turn{pair: pair, s: s}
	floor := 0.0
	add := func(mass, p, q float64) {
		t.mass = append(t.mass, mass)
		t.ep = append(t.ep, max(0, p-pair.p.min)*(1+1e-9))
		t.eq = append(t.eq, max(0, pair.q.max-q)*(1+1e-9))
	}
	for j := range n {
		x := lo + float64(j)*h
		fall := (s+1)*ep[j] - s*eq[j+1] - (x + h)
		rise := (s+1)*ep[j+1] - s*eq[j] - x
		add(h*math.Exp(min(lm[j]-top+h*max(rise, 0), lm[j+1]-top-h*min(fall, 0))), ep[j+1], eq[j])
		floor += h * math.Exp(max(lm[j]-top+h*min(fall, 0), lm[j+1]-top-h*max(rise, 0)))
	}
	add(math.Exp(lm[0]-top)/((s+1)*pair.p.min-s*pair.q.max-lo), ep[0], pair.q.min)
	add(math.Exp(lm[n]-top)/(hi-pair.pull(s, hi)), pair.p.max, eq[n])
	for j := range t.mass {
		t.mass[j] *= (1 + 1e-9) / floor
	}
	return t
}

// growth bounds log of ∫|p^{z+1}q^{−z}| on Im x = b over the integral on the real axis, without the factor e^{b²/2}.
func (t *turn) growth(b, y float64) float64 {
	sp, sq := t.pair.p.span(), t.pair.q.span()
	y = math.Abs(y)
	sum, top := 0.0, math.Inf(-1)
	if t.scratch == nil {
		t.scratch = make([]float64, len(t.mass))
	}
	for j, m := range t.mass {
		if m == 0 {
			t.scratch[j] = math.Inf(-1)
			continue
		}
		g := math.Log(m) + y*(b*t.pair.p.min+phase(b, sp, t.ep[j])+phase(b, sq, t.eq[j]))
		if sq > 0 {
			g -= t.s * max(math.Log(math.Cos(b*sq/2)), 0.5*math.Log1p(-min(1, b*b*sq*t.eq[j])))
		}
		t.scratch[j] = g
		top = max(top, g)
	}
	for _, g := range t.scratch {
		sum += math.Exp(g - top)
	}
	return top + math.Log(sum)
}

// phase bounds the argument of Σ π e^{ibm}, 0 ≤ m ≤ span, Σ π m ≤ mean.
func phase(b, span, mean float64) float64 {
	if d := 1 - b*b*span*mean/2; d > 0 {
		return b * min(span, mean/d)
	}
	return b * span
}
