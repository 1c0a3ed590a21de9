package pld

import (
	"math"
	"sort"

	"coupling/dp/pair"
	"coupling/lab/logspace"
)

// A profile caches the values of a pair's δ(ε), ε ≥ 0, with bounds of their errors.
type profile struct {
	pair   pair.Pair
	max    float64 // supremum of the loss
	inf    float64 // probability of an infinite loss
	logInf float64
	top    float64 // the largest finite loss with an atom
	flat   bool    // no finite loss is positive: δ(ε) = inf for all ε ≥ 0
	rel    float64
	seen   map[float64]knot
	cost   int // of a knot, in evaluations of the noise
}

// A knot is δ(ε) and Q(L > ε)·e^ε at one ε, and P(L > ε).
type knot struct {
	logDelta, delta, slope, tail float64
}

func newProfile(p pair.Pair) *profile {
	sup := p.Support()
	top := 0.0
	for _, a := range sup.Atoms {
		if !math.IsInf(a.Loss, 0) {
			top = max(top, a.Loss)
		}
	}
	return &profile{
		top:    top,
		flat:   sup.Discrete && top == 0,
		pair:   p,
		max:    sup.Max,
		inf:    sup.Infinite(),
		logInf: logspace.Log(sup.Infinite()),
		rel:    p.RelErr(),
		seen:   map[float64]knot{},
		cost:   costOf(p),
	}
}

// costOf estimates the number of evaluations of the noise that a threshold of a pair and the
// probabilities beyond it take.
func costOf(p pair.Pair) int {
	if m, ok := p.(*pair.Mixture); ok {
		p, q := m.Components()
		return 10 + 6*(len(p)+len(q))
	}
	return 40
}

func (f *profile) at(eps float64) knot {
	if k, ok := f.seen[eps]; ok {
		return k
	}
	var k knot
	var lp, lq float64
	if m, ok := f.pair.(*pair.Mixture); ok {
		k.logDelta, lp, lq = m.DeltaTails(eps)
	} else {
		k.logDelta = f.pair.LogDelta(eps)
		lp, lq = f.pair.LogTails(eps)
	}
	k.delta, k.tail, k.slope = math.Exp(k.logDelta), math.Exp(lp), math.Exp(lq+eps)
	f.seen[eps] = k
	return k
}

// slack bounds the relative error of the numbers of a knot: the pair's own, and that of the exponential.
func (f *profile) slack(k knot, eps float64) float64 {
	l := k.logDelta
	if math.IsInf(l, -1) {
		l = 0
	}
	return f.rel + 4*ulp*(2+math.Abs(l)+math.Abs(eps))
}

// least is the value to which a positive δ that underflows is rounded up.
const least = 1e-300

// above returns an upper bound of δ(ε).
func (f *profile) above(eps float64) float64 {
	k := f.at(eps)
	if math.IsInf(k.logDelta, -1) {
		return 0
	}
	return min(1, max(k.delta*(1+f.slack(k, eps)), least))
}

// tangent returns lower bounds at a < c < b of the line that touches δ, as a function of e^ε, at c: the power of the
// test L > c, δ(ε) ≥ P(L > c) − e^ε Q(L > c).
func (f *profile) tangent(a, c, b float64) (atA, atB float64) {
	k := f.at(c)
	if math.IsInf(k.logDelta, -1) {
		return 0, 0
	}
	s := f.slack(k, c)
	atA = k.delta*(1-s) - k.slope*math.Expm1(a-c)*(1-s)
	atB = k.delta*(1-s) - k.slope*math.Expm1(b-c)*(1+s)
	return max(0, atA), atB
}

// end returns the power of two times unit beyond which δ is at most e^logGoal, or beyond which
// there is no loss.
func (f *profile) end(logGoal, unit float64) (float64, bool) {
	const lo, hi = -200, 60
	past := func(i int) bool {
		e := math.Ldexp(unit, lo+i)
		if e >= f.max {
			return true
		}
		d := f.pair.LogDelta(e)
		return d <= logGoal || d <= f.logInf+1e-9
	}
	i := sort.Search(hi-lo+1, past) // δ falls
	return math.Ldexp(unit, lo+i), i <= hi-lo
}
