package pld

import (
	"context"
	"fmt"
	"math"

	"coupling/dp/pair"
	"coupling/lab/logspace"
)

const (
	// directWidth is the relative width from which direct is tried, again on a finer grid, and
	// directWork the work that must be allowed.
	directWidth = 2e-3
	directWork  = 4_000_000
	// mostDirect bounds the number of losses composed.
	mostDirect = 1_000_000_000
)

// direct composes by products of laws on grids of n cells, for fineLaw in about a second for a
// million steps. It needs no bins of one width, and so serves where rare large losses decide, as at
// sampling rates of 1e-6.
//
// Only δ(ε) = E(M − e^ε)₊ is asked for, and each factor of M enters through a convex function f ≥ 0
// that rises from f(0) = 0: a mixture of (x − c)₊, c ≥ 0. The measures of connectDots are on the
// safe side for each of these. The products are so by operation.combine, up to factors in 1 ± Tκ of
// masses and in 1 ± 4T(κ + ulp) of ratios for T losses, and what laws leave out.
func direct(ctx context.Context, parts []*part, q question, n int) (pair.Interval, error) {
	v, err := refineTilt(ctx, parts, q)
	if err == nil {
		err = divide(ctx, parts, v, 3*float64(n), 0)
	}
	if err != nil {
		return pair.Interval{}, err
	}
	all, times, kappa := bracket{}, 0.0, 4*ulp*float64(n+64)
	for i, p := range parts {
		if times += p.times + 2; times > mostDirect {
			return pair.Interval{}, fmt.Errorf("pld: %g losses: %w", times, ErrRange)
		}
		one := bracket{p.high.rising(), p.low.rising()}
		if !(max(p.right, p.left) <= largestLog) || !one.inRange() {
			return pair.Interval{}, fmt.Errorf("pld: losses beyond %d: %w", largestLog, ErrRange)
		}
		power, err := product.power(one.coarse(n), int(p.times), n)
		if err != nil {
			return pair.Interval{}, err
		}
		if i > 0 {
			power = product.combine(all, power, n)
		}
		if all = power; !all.inRange() {
			return pair.Interval{}, fmt.Errorf("pld: losses beyond %d: %w", largestLog, ErrRange)
		}
	}
	mass, ratio := 2*times*kappa, 4*times*(kappa+4*ulp)
	high := func(eps float64) float64 {
		return logspace.Add(all.over.logDelta(eps-ratio), logspace.Log(leftOut)) + mass + 1e-14
	}
	low := func(eps float64) float64 { return all.under.logDelta(eps+ratio) - mass - 1e-14 }
	if !q.invert {
		return pair.DeltaWithin(low(q.eps), max(high(q.eps), -1e3)), nil
	}
	round := 2*ulp*(1+math.Abs(q.logDelta)) + q.slack
	_, upper, ok := crossing(q.logDelta-round, 0, .1, high)
	if !ok {
		return pair.Interval{}, fmt.Errorf("pld: no answer: %w", ErrRange)
	}
	lower, _, _ := crossing(q.logDelta+round, upper, 1e-6, low)
	return pair.Interval{Lower: max(0, lower), Upper: upper}, nil
}

// rising is the law of ratios without what an f with f(0) = 0 does not count.
func (m measure) rising() law { return m.ratios(0, 0, math.Inf(1)) }

// coarse brings a law of many points to a grid of n cells.
func (b bracket) coarse(n int) bracket {
	if len(b.over.x) <= n && len(b.under.x) <= n {
		return b
	}
	one := law{x: []float64{1}, q: []float64{1}, least: 1, most: 1}
	return product.combine(b, bracket{one, one}, n)
}

// logDelta returns log E(M − e^ε)₊.
func (l law) logDelta(eps float64) float64 {
	sum, at := l.far, math.Exp(eps)
	for i, x := range l.x {
		sum += l.q[i] * max(0, x-at)
	}
	return logspace.Log(sum)
}
