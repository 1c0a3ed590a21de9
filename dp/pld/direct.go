package pld

import (
	"context"
	"fmt"
	"math"
	"slices"

	"coupling/dp/pair"
	"coupling/lab/logspace"
)

const (
	// directWidth is the relative width from which direct is tried, again on a finer grid, and
	// directWork the work that must be allowed for the finest.
	directWidth = 2e-3
	directWork  = 4_000_000
	// rareScales is the ratio of the largest to the least loss from which no grid of equal bins
	// holds both.
	rareScales = 1 << 15
	// mostDirect bounds the number of losses composed.
	mostDirect = 1_000_000_000
)

// rare reports whether a loss is rare and large: then direct is tried before a grid of equal bins.
func (a Accountant) rare(parts []*part, goal, unit float64) bool {
	for _, p := range parts {
		if p.prepare(goal, unit) != nil || p.right > largestLog {
			return false
		}
	}
	return slices.ContainsFunc(parts, func(p *part) bool { return p.left*rareScales < p.right })
}

// laws narrows an interval by direct, on finer and finer grids: widths fall with the square of their
// cells, until rounding decides.
func (a Accountant) laws(ctx context.Context, parts []*part, q question, best pair.Interval) pair.Interval {
	most := FineLaw
	if q.limit >= 0 || a.work() < directWork {
		most = FineLaw / 4
	}
	for n, last := FineLaw/16, math.Inf(1); n <= most && !a.enough(q, best, directWidth); {
		got, err := direct(ctx, parts, q, n)
		if err != nil {
			break
		}
		best = within(best, got)
		width := (got.Upper - got.Lower) / got.Upper
		if n == most || !(width < .7*last) {
			break
		}
		last = width
		n = min(most, int(float64(n)*min(4, max(1.5, 1.25*math.Sqrt(width/max(a.width(), directWidth))))))
	}
	return best
}

// direct composes by products of laws on grids of n cells, for a million steps in a tenth of a second for
// FineLaw/4, and in one for FineLaw. It needs no bins of one width, and so serves where rare large losses
// decide, as at sampling rates of 1e-6.
//
// Only δ(ε) = E(M − e^ε)₊ is asked for, and each factor of M enters through a convex function f ≥ 0
// that rises from f(0) = 0: a mixture of (x − c)₊, c ≥ 0. The measures of connectDots are on the
// safe side for each of these. The products are so by operation.power, up to factors in 1 ± 2Tκ of
// masses and in 1 ± 16T ulp of ratios for T combinations, and what laws leave out: see combine.
func direct(ctx context.Context, parts []*part, q question, n int) (pair.Interval, error) {
	all, losses := bracket{}, 0.0
	for i, p := range parts {
		if losses += p.times; losses > mostDirect {
			return pair.Interval{}, fmt.Errorf("pld: %g losses: %w", losses, ErrRange)
		}
		if err := ctx.Err(); err != nil {
			return pair.Interval{}, err
		}
		high, low := p.connectDots(graded(p.right, p.left, 2*n), graded(p.left, p.left, n/4))
		one := bracket{high.rising(), low.rising()}
		if !(max(p.right, p.left) <= largestLog) || !one.inRange() {
			return pair.Interval{}, fmt.Errorf("pld: losses beyond %d: %w", largestLog, ErrRange)
		}
		power, err := product.power(one, int(p.times), n)
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
	times := 3*losses + float64((4*mostJumps+2)*len(parts)) // combinations, and passes to coarser grids
	mass, ratio := 2*times*roundingOf(3*n), 16*times*ulp
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

// graded divides [0, end] into n cells that grow by a factor, from a share of least on: the small
// losses of most outcomes of a rare sample and the large ones of a few are divided alike.
func graded(end, least float64, n int) []float64 {
	nodes := []float64{0}
	if !(end > 0) {
		return append(nodes, 1)
	}
	span := logspace.Log(end/least) + 5
	for k := range n {
		nodes = append(nodes, end*math.Exp(span*(float64(k+1)/float64(n)-1)))
	}
	return nodes
}

// rising is the law of ratios without what an f with f(0) = 0 does not count.
func (m measure) rising() law { return m.ratios(0, 0, math.Inf(1)) }

// logDelta returns log E(M − e^ε)₊.
func (l law) logDelta(eps float64) float64 {
	sum, at := l.far, math.Exp(eps)
	for i, x := range l.x {
		sum += l.q[i] * max(0, x-at)
	}
	return logspace.Log(sum)
}
