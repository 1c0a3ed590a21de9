package dp

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"coupling/dp/closed"
	"coupling/dp/pair"
)

// errFar ends a search whose exact answer is of no interest.
var errFar = fmt.Errorf("dp: far above the budget: %w", ErrUnbounded)

// A search looks for the largest number over the branches of a relation.
type search struct {
	by       Accountant
	event    Event
	relation Relation
	q        pair.Question
	guess    bool    // of many branches the first is asked, and one that is likely to decide
	low      float64 // where the first branch is below, others are not asked
	partial  bool    // so that there is no guarantee

	v     float64     // the largest upper end so far
	g     Guarantee   // of the branch that has it
	first pair.Answer // for the first branch
	cells int         // of the laws of allocations
	share float64     // share of the usual work for each other branch
}

const (
	// firstSpans is the number of spans into which the splits are cut first, and maxSpans how many
	// are compared where that takes milliseconds each; elsewhere large groups have fewer.
	firstSpans = 32
	maxSpans   = 512
)

// worst takes the largest answer over all branches. The first is the one with all records removed,
// which is usually the worst. The others are skipped in spans: if a branch that dominates a whole
// span is certain not to exceed the largest number so far, no branch of the span does; else the
// span is halved, and a single split is evaluated. If there are too many spans for that, the branch
// that dominates each of them is evaluated, and the answer is an upper bound. The result does not
// depend on the number of processors.
//
// A span from a to b removed records of K is dominated by the pair with b removed and K − a
// inserted ones. At every ε the best test is a threshold on the loss. The more records are in the
// batches, the more mass P has above the threshold and the less Q has (in stochastic order, which
// grows with the number of records and falls with the size of the data set). So every step is
// dominated, and with it their composition.
func (s *search) worst(ctx context.Context) error {
	all, err := s.relation.spans()
	if err != nil {
		return err
	}
	switch { // an invalid question is the first error
	case s.q.Delta:
		err = in.Epsilon(s.q.At)
	case !(s.q.At >= 0 && s.q.At <= 1):
		err = bad("delta = %v: must be in [0, 1]", s.q.At)
	}
	if err != nil {
		return err
	}
	s.cells = cellsFor(s.q)
	one := span{all.total, all.most, all.most}
	b, directed, err := branch(s.event, s.relation, one, s.cells)
	if err != nil {
		return err
	}
	s.share = 1 / float64(all.most-all.least+1)
	s.v = -1
	if !s.q.Delta && s.q.At == 1 { // every event has (0, 1)
		s.v, s.g.Accountant = 0, closed.Accountant{}.Name()
		return nil
	}
	switch err := s.ask(ctx, one, b); {
	case err != nil:
		return err
	case s.q.Far > 0 && s.g.Lower > s.q.Far:
		return errFar
	case all.single() || !directed:
		return nil
	case s.v < s.low:
		s.partial = true
		return nil
	}
	s.partial = s.guess
	return s.others(ctx, span{all.total, all.least, all.most - 1})
}

// others evaluates the other branches.
func (s *search) others(ctx context.Context, rest span) error {
	live, first, most := []span{rest}, firstSpans, maxSpans
	if s.first.Order == 0 && s.first.By != (closed.Accountant{}).Name() { // neither a contour nor a closed form
		if s.guess {
			return nil
		}
		// a larger group takes longer
		if most = maxSpans / 4 * 256 * 256 / (s.relation.size() * s.relation.size()); most < firstSpans {
			first = firstSpans / 4
		}
	}
	if !s.guess && (s.q.Width > 0 || s.q.Effort > 0) { // a rough answer will do
		most = min(most, 2*firstSpans)
	}
	for len(live) < first && slices.ContainsFunc(live, func(k span) bool { return !k.single() }) {
		live = halved(live)
	}
	for seen := 0; len(live) > 0; {
		seen += len(live)
		left, last := live, seen+2*len(live) > most
		switch {
		case s.guess && (last || widest(live).single()):
			return s.askOther(ctx, widest(live))
		case !s.guess:
			var err error
			if left, err = s.pass(ctx, live, last); err != nil {
				return err
			}
		}
		none := len(left) == len(live) // skipped: half as many would be skipped at the next size
		for live = halved(left); none && !widest(live).single() && seen+3*len(live) <= most; live = halved(live) {
		}
	}
	return nil
}

// ask evaluates the branch of a split, or one that dominates a span, and updates the largest
// number.
func (s *search) ask(ctx context.Context, k span, b Branch) error {
	in, err := s.by.Bound(ctx, b.Steps, s.q)
	if err == nil && s.q.Delta && in.Upper > 1-1e-9 { // no branch exceeds 1
		in.Upper = 1
	}
	if err == nil && !(in.Upper >= 0 && in.Upper < math.MaxFloat64) {
		err = fmt.Errorf("dp: %s answered %v: %w", in.By, in.Upper, ErrUnbounded)
	}
	if err != nil {
		return fmt.Errorf("dp: %v inserted, %v removed: %w", b.Inserted, b.Removed, err)
	}
	if b.Loose {
		in.Lower = 0
	}
	if s.v < 0 { // the first
		s.first = in
	}
	if k.single() { // a bound for a span need not be attained
		s.g.Lower = max(s.g.Lower, in.Lower)
	}
	if in.Upper > s.v {
		s.v = in.Upper + 0 // no −0
		s.g.Accountant, s.g.Inserted, s.g.Removed = in.By, b.Inserted, b.Removed
	}
	s.g.Lower = min(s.g.Lower, s.v)
	return nil
}

// pass compares the live spans with the largest number so far. It evaluates single splits that may
// exceed it, or in the last pass every span that may, and returns the other spans that may.
func (s *search) pass(ctx context.Context, live []span, last bool) (left []span, err error) {
	if worst := widest(live); last && !worst.single() {
		if !s.within(ctx, worst) {
			if err := s.askOther(ctx, worst); err != nil { // what most others are below
				return nil, err
			}
		}
		live = slices.DeleteFunc(live, func(k span) bool { return k == worst })
	}
	if !last && len(live) >= firstSpans && !s.any(ctx, live) {
		return live, nil
	}
	passed := make([]bool, len(live))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range live {
		group.Go(func() error {
			passed[i] = s.within(ctx, live[i])
			return nil
		})
	}
	_ = group.Wait() // no comparison fails
	known := s.v
	for i, k := range live {
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case passed[i]:
			continue
		case !k.single() && !last:
			left = append(left, k)
			continue
		case s.v > known && s.within(ctx, k): // the largest number has grown since
			continue
		}
		if err := s.askOther(ctx, k); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// any reports whether one of a few of the spans is within: where none is, the others are taken not to be.
func (s *search) any(ctx context.Context, live []span) bool {
	for i := 0; i < len(live); i += len(live) / 4 {
		if live[i].single() || s.within(ctx, live[i]) {
			return true
		}
	}
	return false
}

// askOther evaluates the branch of a split but the first, or one that dominates a span.
func (s *search) askOther(ctx context.Context, k span) error {
	s.q.Effort, s.q.Like = s.share, pair.Answer{}
	if !k.single() { // accountants that were slow for the first branch would be as slow for each of many
		s.q.Like.By = s.first.By
	}
	b, _, err := branch(s.event, s.relation, k, s.cells)
	if err == nil {
		err = s.ask(ctx, k, b)
	}
	if err != nil && !k.single() && ctx.Err() == nil {
		err = fmt.Errorf(
			"dp: group = %d: too many splits to bound all of them; ask for a smaller group, or for Removal and "+
				"Insertion alone: %w", s.relation.size(), err)
	}
	return err
}

// within reports whether all branches of a span are certain not to exceed the largest number so
// far. In doubt it returns false.
func (s *search) within(ctx context.Context, k span) bool {
	if s.q.Delta && s.v >= 1 {
		return true
	}
	b, _, err := branch(s.event, s.relation, k, s.cells)
	if err != nil {
		return false
	}
	at, most := s.q.At, s.v
	if !s.q.Delta { // a branch with δ(v) ≤ δ has ε ≤ v
		at, most = s.v, s.q.At
		if s.q.Most > 0 && at > 0 { // more work might bring the largest number down to there
			at *= s.first.Lower / s.first.Upper
		}
	}
	q := pair.Question{Delta: true, At: at, Against: most, Effort: s.share, Like: s.first}
	if !s.q.Delta && s.q.At == 0 {
		q, most = pair.EpsilonAt(0), s.v
	}
	if k.single() { // worth trying every accountant
		q.Like.By = ""
	}
	v, err := s.by.Bound(ctx, b.Steps, q)
	return err == nil && v.Upper <= most
}
