package dp

import (
	"fmt"
	"math"

	"coupling/dp/pair"
)

// Branch is one way in which neighbouring data sets may differ, with the dominating pairs of the event's parts. The
// guarantee of the relation is the worst over its branches; steps of one branch compose.
type Branch struct {
	Inserted, Removed int
	Steps             []pair.Step
}

// Branches returns the dominating pairs of an event under a relation, the branch with all records removed first. An error
// that wraps ErrNoPair names the part that has no pair; one that wraps ErrParameter a parameter out of range.
func Branches(e Event, r Relation) ([]Branch, error) {
	splits, err := r.splits()
	if err != nil {
		return nil, err
	}
	out := make([]Branch, 0, len(splits))
	for _, s := range splits {
		w := walker{split: s, exchange: r.Kind == Exchange, times: map[part]int{}}
		if err := w.walk(e, 1, sampling{}); err != nil {
			return nil, err
		}
		out = append(out, Branch{Inserted: s.inserted, Removed: s.removed, Steps: w.steps})
	}
	return out, nil
}

// walker collects the steps of an event for one split; equal parts are counted together.
type walker struct {
	split    split
	exchange bool // removed and inserted records are one unit apart
	steps    []pair.Step
	times    map[part]int // index in steps
}

// part is a mechanism with its sampling.
type part struct {
	mechanism Event
	sampling  sampling
}

// sampling is what lies between a mechanism and the data. The zero value is all of the data.
type sampling struct {
	kind        samplingKind
	rate        float64
	batch, size int
	exchange    bool
}

type samplingKind int

const (
	everything samplingKind = iota
	poisson
	without
	with
)

func (w *walker) walk(e Event, times int, s sampling) error {
	switch e := e.(type) {
	case nil:
		return bad("event = nil: must be an event")
	case Repeat:
		return w.repeat(e, times, s)
	case Compose:
		if len(e) == 0 {
			return bad("Compose: must have at least one event")
		}
		if len(e) > 1 && s.kind != everything {
			return noPair(e, "several mechanisms on one sampled batch; sample inside Compose")
		}
		for _, part := range e {
			if err := w.walk(part, times, s); err != nil {
				return err
			}
		}
		return nil
	case Poisson:
		if !(e.Rate > 0 && e.Rate <= 1) {
			return bad("rate = %v: must be in (0, 1]", e.Rate)
		}
		return w.sampled(e, e.Event, times, s, sampling{kind: poisson, rate: e.Rate})
	case WithoutReplacement:
		if err := checkBatch(e.Batch, e.Size); err != nil {
			return err
		}
		if e.Batch > e.Size {
			return bad("batch = %d: must be at most size = %d", e.Batch, e.Size)
		}
		return w.sampled(e, e.Event, times, s, sampling{kind: without, batch: e.Batch, size: e.Size})
	case WithReplacement:
		if err := checkBatch(e.Batch, e.Size); err != nil {
			return err
		}
		return w.sampled(e, e.Event, times, s, sampling{kind: with, batch: e.Batch, size: e.Size})
	}
	return w.mechanism(e, times, s)
}

func checkBatch(batch, size int) error {
	if batch < 1 {
		return bad("batch = %d: must be at least 1", batch)
	}
	if size < 1 {
		return bad("size = %d: must be at least 1", size)
	}
	return nil
}

func (w *walker) repeat(e Repeat, times int, s sampling) error {
	if e.Times < 1 {
		return bad("times = %d: must be at least 1", e.Times)
	}
	if e.Times > math.MaxInt/times {
		return bad("times = %d × %d: too many", times, e.Times)
	}
	if e.Times > 1 && s.kind != everything {
		return noPair(e, "several runs on one sampled batch; sample inside Repeat")
	}
	return w.walk(e.Event, times*e.Times, s)
}

// sampled nests a sampling; only Poisson in Poisson (the product of the rates) has a pair.
func (w *walker) sampled(e, inner Event, times int, outer, s sampling) error {
	if outer.kind != everything {
		if outer.kind != poisson || s.kind != poisson {
			return noPair(e, "a sample of a sample")
		}
		s.rate *= outer.rate
		if s.rate == 0 {
			return bad("rate: the product of nested rates underflows")
		}
	}
	return w.walk(inner, times, s)
}

// mechanism adds a leaf.
func (w *walker) mechanism(e Event, times int, s sampling) error {
	s.exchange = w.exchange
	key := part{e, s}
	_, own := e.(Dominated) // pairs of the caller need not be comparable
	if i, ok := w.index(key, own); ok {
		if w.steps[i].Times > math.MaxInt-times {
			return bad("times: the sum of the steps is too large")
		}
		w.steps[i].Times += times
		return nil
	}
	p, err := leaf(e, s, w.split)
	if err != nil {
		return err
	}
	if !own {
		w.times[key] = len(w.steps)
	}
	w.steps = append(w.steps, pair.Step{Pair: p, Times: times})
	return nil
}

// index finds an equal part among the steps.
func (w *walker) index(key part, own bool) (int, bool) {
	if own {
		return 0, false
	}
	i, ok := w.times[key]
	return i, ok
}

// leaf returns the dominating pair of a mechanism on sampled data.
func leaf(e Event, s sampling, k split) (pair.Pair, error) {
	switch e := e.(type) {
	case Gaussian:
		if !(e.Noise > 0) || math.IsInf(e.Noise, 0) {
			return nil, bad("noise = %v: must be positive and finite", e.Noise)
		}
		return additive(e, pair.Gaussian, e.Noise, s, k)
	case Laplace:
		if !(e.Scale > 0) || math.IsInf(e.Scale, 0) {
			return nil, bad("scale = %v: must be positive and finite", e.Scale)
		}
		return additive(e, pair.Laplace, e.Scale, s, k)
	case RandomizedResponse:
		return response(e, s, k)
	case NormNoise:
		return norm(e, s, k)
	case Dominated:
		return dominated(e, s, k)
	}
	return nil, noPair(e, "a mechanism that this package does not know")
}

// additive is Theorem 3.8 and M.2 for Poisson samples, its hypergeometric version and L.5 for fixed batches.
func additive(e Event, noise pair.Noise, scale float64, s sampling, k split) (pair.Pair, error) {
	if s.exchange {
		return exchanged(e, noise, scale, s, k)
	}
	var p *pair.Mixture
	var err error
	switch s.kind {
	case everything:
		p, err = pair.Poisson(noise, scale, 1, k.inserted, k.removed)
	case poisson:
		p, err = pair.Poisson(noise, scale, s.rate, k.inserted, k.removed)
	case without:
		p, err = pair.Fixed(noise, scale, s.batch, s.size, k.inserted, k.removed)
	case with:
		p, err = pair.Replacement(noise, scale, s.batch, s.size, k.inserted, k.removed)
	}
	if err != nil {
		return nil, fmt.Errorf("dp: %v: %w", e, err)
	}
	return p, nil
}

// exchanged is the tight pair of records exchanged for others at a distance of one unit.
func exchanged(e Event, noise pair.Noise, scale float64, s sampling, k split) (p pair.Pair, err error) {
	switch {
	case s.kind == everything:
		p, err = pair.Poisson(noise, scale, 1, 0, k.removed)
	case s.kind == without && k.removed == 1:
		p, err = pair.FixedSubstitution(noise, scale, s.batch, s.size)
	default:
		return nil, noPair(e, "exchanges in a sample, but for one record without replacement; substitution bounds it")
	}
	if err != nil {
		return nil, fmt.Errorf("dp: %v: %w", e, err)
	}
	return p, nil
}

// hit returns the probability that a batch holds at least one of k special records of a data set which has fewer records less than
// the larger one.
func (s sampling) hit(k, fewer int) (float64, error) {
	s.size -= max(0, fewer)
	switch {
	case k == 0:
		return 0, nil
	case s.kind == poisson:
		return -math.Expm1(float64(k) * math.Log1p(-s.rate)), nil
	case s.kind == everything:
		return 1, nil
	case k > s.size:
		return 0, bad("size = %d: must be at least the group's %d", s.size, k)
	case s.kind == without && s.batch > s.size:
		return 0, bad("batch = %d: must be at most the smaller data set's %d", s.batch, s.size)
	case s.kind == with:
		return -math.Expm1(float64(s.batch) * math.Log1p(-float64(k)/float64(s.size))), nil
	}
	miss := 0.0 // log of Π (N−n−i)/(N−i)
	for i := range k {
		miss += math.Log1p(-float64(s.batch) / float64(s.size-i))
		if s.size-i <= s.batch {
			return 1, nil
		}
	}
	return -math.Expm1(miss), nil
}

// response is SSKG M.2 for randomised response: the special records either all flip the bit or leave it. With records on both
// sides the mechanism may at each step be the worse of the two.
func response(e RandomizedResponse, s sampling, k split) (pair.Pair, error) {
	if !(e.Truth >= 0.5 && e.Truth <= 1) {
		return nil, bad("truth = %v: must be in [0.5, 1]", e.Truth)
	}
	removed, err := s.hit(k.removed, k.inserted-k.removed)
	if err != nil {
		return nil, err
	}
	inserted, err := s.hit(k.inserted, k.removed-k.inserted)
	if err != nil {
		return nil, err
	}
	var p *pair.Discrete
	switch {
	case k.inserted == 0:
		p, err = pair.RandomizedResponse(e.Truth, removed, 0)
	case k.removed == 0:
		p, err = pair.RandomizedResponse(e.Truth, 0, inserted)
	default:
		p, err = pair.ResponseEither(e.Truth, removed, inserted)
	}
	if err != nil {
		return nil, fmt.Errorf("dp: %v: %w", e, err)
	}
	return p, nil
}

// norm is a plain shift of any length, or one sampled record (advanced joint convexity).
func norm(e NormNoise, s sampling, k split) (pair.Pair, error) {
	if !(e.Zeta > 0) || math.IsInf(e.Zeta, 0) {
		return nil, bad("zeta = %v: must be positive and finite", e.Zeta)
	}
	if e.Dim < 1 {
		return nil, bad("dim = %d: must be at least 1", e.Dim)
	}
	if e.Dim == 1 {
		return additive(e, pair.Laplace, 1/e.Zeta, s, k)
	}
	if s.kind == everything {
		if s.exchange {
			return normPair(e, float64(k.removed), 1)
		}
		return normPair(e, float64(k.inserted+k.removed), 1)
	}
	if s.exchange && s.kind == poisson {
		return nil, noPair(e, "exchanges in a Poisson sample; substitution bounds it")
	}
	if s.kind == with || max(k.inserted, k.removed) > 1 {
		return nil, noPair(e, "norm noise on a sample in which more than one record may differ")
	}
	w := s.rate
	if s.kind == without {
		w = float64(s.batch) / float64(s.size)
	}
	switch {
	case k.inserted == 0:
		return normPair(e, 1, w)
	case k.removed == 0:
		p, err := normPair(e, 1, w)
		if err != nil {
			return nil, err
		}
		return p.Swap(), nil
	}
	// A substitution moves a sampled batch by two units at most, an exchange by one.
	shift := 2.0
	if s.exchange {
		shift = 1
	}
	half, err := normPair(e, shift, w)
	if err != nil {
		return nil, err
	}
	return pair.NewSymmetric(half)
}

func normPair(e NormNoise, shift, rate float64) (pair.Pair, error) {
	p, err := pair.NewNorm(e.Zeta, e.Dim, shift, rate)
	if err != nil {
		return nil, fmt.Errorf("dp: %v: %w", e, err)
	}
	return p, nil
}

// dominated is a pair that the caller gave.
func dominated(e Dominated, s sampling, k split) (pair.Pair, error) {
	switch {
	case e.Removal == nil:
		return nil, bad("Dominated: removal = nil: must be a pair")
	case s.kind != everything:
		return nil, noPair(e, "a sample for a mechanism known only by its pair")
	case k == split{0, 1}:
		return e.Removal, nil
	case k == split{1, 0}:
		return e.Removal.Swap(), nil
	}
	return nil, noPair(e, "more than one inserted or removed record")
}
