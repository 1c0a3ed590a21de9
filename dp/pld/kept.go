package pld

import (
	"context"
	"math"
	"slices"
	"sync"

	"coupling/dp/pair"
	"coupling/lab/logspace"
)

// A composition is what is kept of one of enclosed pairs: the densities on its finest grid, for the ε
// at a δ, and that ε.
type composition struct {
	by       Accountant
	about    []pair.Step
	logDelta float64
	eps      pair.Interval
	sides    sides
}

// compositions holds the last ones, of at most 16 MB each. One takes a fifth of a second, and an answer
// from it milliseconds: the bounds that a density gives hold at every ε, and are tight for many δ.
var compositions struct {
	lock sync.Mutex
	last [4]*composition
	next int
}

// keptStep is the step of log δ between the compositions that are kept. Their δ do not depend on what was
// asked before, so that an answer does not either.
const keptStep = 12

// keptBins is the largest density that is kept.
const keptBins = 1 << 20

// kept answers from a composition for a δ near that of the question, which it may have to make. It is
// false for pairs that are not enclosed, which take less time or are made anew for each question;
// where not all of the answer is wanted; and where one for the question itself would be narrower.
func (a Accountant) kept(ctx context.Context, parts []*part, q question) (pair.Interval, bool) {
	if q.far > 0 || q.floor > 0 || slices.ContainsFunc(parts, func(p *part) bool { return !p.enclosed() }) {
		return pair.Interval{}, false
	}
	q.most = 0 // the same answer with it and without
	near := q.logDelta
	if q.limit > 0 {
		near = logspace.Log(q.limit)
	}
	for range 2 {
		c, err := a.composition(ctx, parts, keptStep*min(-1, math.Round(near/keptStep)))
		if err != nil {
			return pair.Interval{}, false
		}
		got := c.sides.read(q)
		switch {
		case !(got.Lower <= got.Upper) || math.IsInf(got.Upper, 1): // as where a number is out of range
			return pair.Interval{}, false
		case a.enough(q, got, 0) || q.invert && a.enough(q, got, directWidth) && c.serves(got):
			return got, true
		case q.invert || q.limit > 0:
			return pair.Interval{}, false
		}
		near = logspace.Log(got.Upper)
	}
	return pair.Interval{}, false
}

// serves reports whether an ε is about as narrow as that for which the composition was made.
func (c *composition) serves(eps pair.Interval) bool {
	return (eps.Upper-eps.Lower)*c.eps.Upper <= 1.5*(c.eps.Upper-c.eps.Lower)*eps.Upper
}

// composition returns the composition for a δ.
func (a Accountant) composition(ctx context.Context, parts []*part, logDelta float64) (*composition, error) {
	c := &composition{by: a, logDelta: logDelta}
	for _, p := range parts {
		c.about = append(c.about, pair.Step{Pair: p.loss.right.pair, Times: int(p.times)})
	}
	compositions.lock.Lock()
	for _, k := range compositions.last {
		if k != nil && k.by == a && k.logDelta == logDelta && slices.Equal(k.about, c.about) {
			c = k
		}
	}
	compositions.lock.Unlock()
	if c.sides.high != nil {
		return c, nil
	}
	q := question{logDelta: logDelta, invert: true, limit: math.NaN()}
	fresh, err := a.parts(c.about)
	if err == nil {
		err = reachable(fresh, q)
	}
	if err == nil {
		c.eps, c.sides, err = a.refine(ctx, fresh, q, logDelta)
	}
	if err != nil {
		return nil, err
	}
	if c.sides.high.bins > keptBins {
		return c, nil
	}
	compositions.lock.Lock()
	defer compositions.lock.Unlock()
	compositions.last[compositions.next] = c
	compositions.next = (compositions.next + 1) % len(compositions.last)
	return c, nil
}
