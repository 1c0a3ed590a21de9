package pld

import (
	"context"
	"fmt"
	"math"
	"slices"

	"coupling/dp/pair"
	"coupling/lab/logspace"
	"coupling/lab/root"
)

const (
	// directWidth is the relative width from which direct is tried, again on a finer grid, and
	// directWork the work that must be allowed for the finest.
	directWidth = 2e-3
	directWork  = 4_000_000
	// rareScales is the ratio of the largest to the least loss from which no grid of equal bins
	// holds both, and roughScales that from which a rough answer by direct takes less time.
	rareScales, roughScales = 1 << 15, 1 << 6
	// leastSpan is the ratio, as a logarithm, of losses worth cells of their own.
	leastSpan = 1e-4
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
	scales := float64(rareScales)
	if a.width() >= directWidth {
		scales = roughScales
	}
	return slices.ContainsFunc(parts, func(p *part) bool { return p.left*scales < p.right })
}

// laws narrows an interval by direct, on finer and finer grids, until rounding decides. Widths fall as
// A/bulk² + B/jumps² with the cells of either kind. Two rough answers tell A and B, and so which cells
// are worth their time, about bulk²·log₂ T + 2·jumps².
func (a Accountant) laws(ctx context.Context, parts []*part, q question, best pair.Interval) pair.Interval {
	goal, most := max(a.width(), directWidth), FineLaw
	if q.limit >= 0 || a.work() < directWork {
		most = FineLaw / 4
	}
	levels := logspace.Log(max(2, largestOf(parts, func(p *part) float64 { return p.times }))) / math.Ln2
	bulk, jumps, first := 0.0, 0.0, 0.0 // A, B and the first width
	by := fineness{bulk: FineLaw / 64, jumps: FineLaw / 16}
	for k, last := 0, math.Inf(1); !a.enough(q, best, goal); k++ {
		got, err := direct(ctx, parts, q, by)
		if err != nil {
			break
		}
		best = within(best, got)
		width := (got.Upper - got.Lower) / got.Upper
		if k > 1 && !(width < .8*last) || min(by.bulk, by.jumps) == most {
			break
		}
		last = width
		b, j := float64(by.bulk*by.bulk), float64(by.jumps*by.jumps)
		switch k {
		case 0:
			first, by.bulk = width, 2*by.bulk
			continue
		case 1:
			bulk = max(0, first-width) * b / 3
			jumps = max(0, width-bulk/b) * j
		default:
			scale := width / (bulk/b + jumps/j)
			bulk, jumps = bulk*scale, jumps*scale
		}
		share := 1 / min(.8*goal, .4*width) * (math.Sqrt(bulk*levels) + math.Sqrt(2*jumps))
		by.bulk = max(FineLaw/64, min(4*by.bulk, most, int(math.Sqrt(share*math.Sqrt(bulk/levels)))))
		by.jumps = max(FineLaw/16, min(4*by.jumps, most, int(math.Sqrt(share*math.Sqrt(jumps/2)))))
	}
	return best
}

// direct composes by products of laws, for a million steps in hundredths of a second, or in one with
// FineLaw cells of each kind. It needs no bins of one width, and so serves where rare large losses
// decide, as at sampling rates of 1e-6.
//
// Only δ(ε) = E(M − e^ε)₊ is asked for, and each factor of M enters through a convex function f ≥ 0
// that rises from f(0) = 0: a mixture of (x − c)₊, c ≥ 0. The measures of connectDots are on the
// safe side for each of these. The products are so by operation.power, up to factors in 1 ± 2Σκ of
// masses and in 1 ± 16T ulp of ratios for T combinations, and what laws leave out: see combine.
func direct(ctx context.Context, parts []*part, q question, by fineness) (pair.Interval, error) {
	by.last = 2 * by.jumps
	all, losses, mass := bracket{}, 0.0, 0.0
	for i, p := range parts {
		if losses += p.times; losses > mostDirect {
			return pair.Interval{}, fmt.Errorf("pld: %g losses: %w", losses, ErrRange)
		}
		if err := ctx.Err(); err != nil {
			return pair.Interval{}, err
		}
		high, low := p.connectDots(p.nodes(by), graded(p.left, p.left, by.bulk/4))
		one := bracket{high.rising(), low.rising()}
		if !(max(p.right, p.left) <= largestLog) || !one.inRange() {
			return pair.Interval{}, fmt.Errorf("pld: losses beyond %d: %w", largestLog, ErrRange)
		}
		power, rounding, err := product.power(one, int(p.times), by)
		if err != nil {
			return pair.Interval{}, err
		}
		mass += 2 * rounding
		if i > 0 {
			mass += 2 * roundingOf(max(all.points(), power.points()))
			power = product.combine(all, power, max(by.bulk, by.last))
		}
		if all = power; !all.inRange() {
			return pair.Interval{}, fmt.Errorf("pld: losses beyond %d: %w", largestLog, ErrRange)
		}
	}
	times := 3*losses + float64((4*mostJumps+2)*len(parts)) // combinations, and passes to coarser grids
	ratio := 16 * times * ulp
	high := func(eps float64) float64 {
		return logspace.Add(all.over.logDelta(eps-ratio), logspace.Log(leftOut)) + mass + 1e-14
	}
	low := func(eps float64) float64 { return all.under.logDelta(eps+ratio) - mass - 1e-14 }
	v := q.read(high, low, 0, 1)
	if math.IsInf(v.Upper, 1) {
		return v, fmt.Errorf("pld: no answer: %w", ErrRange)
	}
	return v, nil
}

// graded divides [0, end] into n cells that grow by a factor, from a share of least on: the small
// losses of most outcomes of a rare sample and the large ones of a few are divided alike.
func graded(end, least float64, n int) []float64 {
	nodes := []float64{0}
	if !(end > 0) {
		return append(nodes, 1)
	}
	span := max(logspace.Log(end/least), 0) + 5
	for k := range n {
		nodes = append(nodes, end*math.Exp(span*(float64(k+1)/float64(n)-1)))
	}
	return nodes
}

// nodes divides the right half: by.jumps cells for the losses that are so large that power tells them
// apart, and two for each of by.bulk for the others.
func (p *part) nodes(by fineness) []float64 {
	few := func(log float64) bool {
		lp, lq := p.loss.right.pair.LogTails(math.Exp(log))
		return p.times*math.Exp(max(lp, lq)) < jumpsExpected
	}
	from, end := logspace.Log(p.left), logspace.Log(p.right)
	if p.times < worthJumps || few(from) || !few(end) {
		return graded(p.right, p.left, 2*by.bulk)
	}
	cut := root.Bisect(few, from, end)
	if end-cut < leastSpan { // the tail is an atom at the largest loss
		return graded(p.right, p.left, 2*by.bulk)
	}
	nodes := graded(math.Exp(cut), p.left, 2*by.bulk)
	for k := range by.jumps {
		nodes = append(nodes, math.Exp(cut+(end-cut)*float64(k+1)/float64(by.jumps)))
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
