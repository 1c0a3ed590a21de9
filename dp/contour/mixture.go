package contour

import (
	"fmt"
	"math"
	"slices"

	"coupling/dp/pair"
	"coupling/lab/logspace"
)

// A side is one of the two mixtures, in units of the standard deviation and measured from the reference mean 0.
type side struct {
	w, m     []float64 // weight, mean
	lw       []float64 // log weight
	rest     float64   // 1 − Σw over the means other than 0: the weight of the standard normal
	min, max float64   // extreme means
}

// span is the width of the means.
func (a *side) span() float64 { return a.max - a.min }

// scaled is a mixture in normal form: σ = 1, the largest mean of Q is 0, and no mean of P is below it, so that
// the loss increases with x.
type scaled struct {
	p, q    side
	trimmed bool // components were left out
	memo    map[float64]rows
	ratios  float64 // evaluations of components at the nodes of a line that may be made
	reach   float64 // largest mean of P less smallest mean of Q: the Lipschitz constant of the loss
}

// newScaled brings a pair of Gaussian mixtures to normal form.
func newScaled(pr pair.Pair, cut pair.Trim) (*scaled, error) {
	if sup := pr.Support(); len(sup.Atoms) > 0 {
		return nil, fmt.Errorf("contour: %v: %w", pr, ErrAtoms)
	}
	less, trimmed := cut.Of(pr)
	m, ok := less.(*pair.Mixture)
	if !ok || m.Noise() != pair.Gaussian {
		return nil, fmt.Errorf("contour: %v is not a Gaussian mixture: %w", pr, ErrUnsupported)
	}
	p, q := m.Components()
	origin := math.Inf(-1)
	for _, c := range q {
		origin = max(origin, c.Mean)
	}
	s := scaled{ratios: maxRatios, trimmed: trimmed}
	s.p, s.q = newSide(p, origin, m.Scale()), newSide(q, origin, m.Scale())
	s.reach = s.p.max - s.q.min
	if !(s.p.min >= 0) || !(s.reach < 1e100) {
		return nil, fmt.Errorf("contour: %v: means in [%v, %v] standard deviations: %w", pr, s.q.min, s.p.max,
			ErrUnsupported)
	}
	if s.gaussian() && s.reach*s.reach < 1e-290 {
		return nil, fmt.Errorf("contour: %v: loss below the range of float64: %w", pr, ErrUnsupported)
	}
	return &s, nil
}

// newSide measures means from origin in units of scale.
func newSide(comps []pair.Component, origin, scale float64) side {
	s := side{min: math.Inf(1), max: math.Inf(-1)}
	total := 0.0
	for _, c := range comps {
		total += math.Exp(c.LogWeight)
	}
	if slices.ContainsFunc(comps, func(c pair.Component) bool { return c.Mean == origin }) {
		s.rest, total = 1, 1
	}
	for _, c := range comps {
		m := (c.Mean - origin) / scale
		s.min, s.max = min(s.min, m), max(s.max, m)
		if c.Mean == origin {
			continue
		}
		lw := c.LogWeight - logspace.Log(total)
		s.lw = append(s.lw, lw)
		s.w = append(s.w, math.Exp(lw))
		s.m = append(s.m, m)
		if s.rest > 0 {
			s.rest = max(0, s.rest-math.Exp(lw))
		}
	}
	return s
}

// ratio returns log of the mixture's density relative to the standard normal's at x, a bound of its absolute
// error, and the posterior mean of the component's mean given x.
func (a *side) ratio(x float64) (l, err, mean float64) {
	if len(a.w) == 0 {
		return 0, 0, 0
	}
	top := math.Inf(-1)
	if a.rest > 0 {
		top = 0
	}
	for i, m := range a.m {
		top = max(top, a.lw[i]+m*(x-m/2))
	}
	if top <= 1 && a.rest > 0.25 {
		return a.ratioNearOne(x)
	}
	sum, slack, first := 0.0, 0.0, 0.0
	if a.rest > 0 {
		sum = a.rest * math.Exp(-top)
		slack = sum * (2 + math.Abs(top))
	}
	for i, m := range a.m {
		e := math.Exp(a.lw[i] + m*(x-m/2) - top)
		sum += e
		first += e * m
		slack += e * (4 + 3*math.Abs(a.lw[i]) + 6*math.Abs(m)*(math.Abs(x)+math.Abs(m)) + math.Abs(top))
	}
	l = top + logspace.Log(sum)
	n := float64(len(a.w))
	return l, ulp * (slack/sum + n + 2*math.Abs(l) + 2), first / sum
}

// ratioNearOne is ratio where the standard normal dominates: log1p(Σ w·expm1(·)) keeps the digits of a loss near 0.
func (a *side) ratioNearOne(x float64) (l, err, mean float64) {
	u, slack, first := 0.0, 0.0, 0.0
	for i, m := range a.m {
		arg := m * (x - m/2)
		d := math.Expm1(arg)
		u += a.w[i] * d
		first += a.w[i] * (1 + d) * m
		slack += a.w[i] * ((4+float64(len(a.w))+2*math.Abs(a.lw[i]))*math.Abs(d) +
			3*(1+d)*math.Abs(m)*(math.Abs(x)+math.Abs(m)))
	}
	l = math.Log1p(u)
	return l, ulp * (2*slack/(1+u) + 2*math.Abs(l)), first / (1 + u)
}

// same reports whether two pairs are equal.
func (s *scaled) same(o *scaled) bool {
	eq := func(a, b *side) bool { return slices.Equal(a.lw, b.lw) && slices.Equal(a.m, b.m) }
	return eq(&s.p, &o.p) && eq(&s.q, &o.q) && s.reach == o.reach
}

// gaussian reports whether both sides are a single normal, whose loss is itself normal.
func (s *scaled) gaussian() bool {
	return s.p.span() == 0 && s.q.span() == 0
}

// pull bounds where p^{s+1}q^{−s} is drawn to, right of x: its logarithmic derivative at any y ≥ x is at most pull − y,
// as the posterior means of P and Q increase.
func (s *scaled) pull(order, x float64) float64 {
	_, _, q := s.q.ratio(x)
	return (order+1)*s.p.max - order*min(q, 0)
}

// upper returns an end for sums of p^{s+1}q^{−s}: beyond it the density falls from margin standard deviations off on.
func (s *scaled) upper(order, margin float64) float64 {
	hi := (order+1)*s.p.max - order*s.q.min + margin
	if s.q.min == s.q.max {
		return hi
	}
	lo := s.p.max
	for range 30 {
		mid := (lo + hi) / 2
		if mid-s.pull(order, mid) >= margin {
			hi = mid
		} else {
			lo = mid
		}
		if hi-lo < 1 {
			break
		}
	}
	return hi
}

// A row describes a pair of mixtures at one x: the logarithms of both densities over the standard
// normal's, bounds of their errors, and the posterior means of the components' means.
type row struct {
	p, q, pErr, qErr, pMean, qMean float64
}

// rows are the rows at x = j·h, from j = first on.
type rows struct {
	first int
	list  []row
}

// at returns n rows from j = first on. Lines at different abscissae share them.
func (s *scaled) at(h float64, first, n int) []row {
	if s.memo == nil {
		s.memo = map[float64]rows{}
	}
	m, ok := s.memo[h]
	if !ok {
		m.first = first
	}
	lo, hi := min(first, m.first), max(first+n, m.first+len(m.list))
	if lo < m.first || hi > m.first+len(m.list) {
		list := make([]row, hi-lo)
		for j := range list {
			if k := j + lo - m.first; k >= 0 && k < len(m.list) {
				list[j] = m.list[k]
				continue
			}
			x := float64(j+lo) * h
			r := &list[j]
			r.p, r.pErr, r.pMean = s.p.ratio(x)
			r.q, r.qErr, r.qMean = s.q.ratio(x)
		}
		m = rows{lo, list}
		s.memo[h] = m
	}
	return m.list[first-m.first:][:n]
}
