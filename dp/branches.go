package dp

import (
	"math"
	"reflect"

	"coupling/dp/pair"
	"coupling/dp/pld"
)

// Branch is one way in which neighbouring data sets may differ, with the dominating pairs of the event's parts. The
// guarantee of the relation is the worst over its branches; steps of one branch compose.
type Branch struct {
	Inserted, Removed int
	Steps             []pair.Step
	// Loose reports that the pairs dominate more than the event, so their lower bounds do not hold for it.
	Loose bool
}

// Branches returns the dominating pairs of an event under a relation, the branch with all records
// removed first. An error that wraps ErrNoPair names the part without a pair; one that wraps
// ErrParameter names a parameter out of range.
func Branches(e Event, r Relation) ([]Branch, error) {
	all, err := r.spans()
	if err != nil {
		return nil, err
	}
	var out []Branch
	for _, s := range all.singles() {
		b, _, err := branch(e, r, s, pld.FineLaw)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// branch returns the branch of a split, or one that dominates all branches of a span; directed is
// false if it is the same for every split.
func branch(e Event, r Relation, s span, cells int) (b Branch, directed bool, err error) {
	w := walker{span: s, cells: cells, exchange: r.Kind == Exchange, times: map[part]int{}}
	err = w.walk(e, 1, sampling{})
	if err == nil && len(w.steps) == 0 {
		w.steps, err = nothingRead()
	}
	b = Branch{Inserted: s.total - s.most, Removed: s.most, Steps: w.steps, Loose: w.loose}
	return b, w.directed, err
}

// nothingRead is the step of an event that reads no data: one of no runs, or of empty batches only.
func nothingRead() ([]pair.Step, error) {
	same, err := pair.NewDiscrete([]float64{1}, []float64{1})
	return []pair.Step{{Pair: same, Times: 1}}, err
}

// walker collects the steps of an event for one span; equal parts are counted together.
type walker struct {
	span     span
	cells    int  // of the laws of allocations
	exchange bool // removed and inserted records are one unit apart
	directed bool // a mechanism asked which records are removed and which inserted
	loose    bool
	steps    []pair.Step
	times    map[part]int // index in steps
}

// part is a mechanism with its sampling; or in one of so many steps, if not 0, to which a record is
// allocated; or on a sample of at most so many records, if not 0.
type part struct {
	mechanism Mechanism
	sampling  sampling
	steps     int
	cells     int
	most      int
}

// walk adds an event that is run so many times; for 0 it only checks it.
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
		if !(e.Rate >= 0 && e.Rate <= 1) {
			return bad("rate = %v: must be in [0, 1]", e.Rate)
		}
		if e.Rate == 0 { // the batch is empty
			e.Rate, times = 1, 0
		}
		return w.sampled(e, e.Event, times, s, sampling{kind: poisson, rate: e.Rate})
	case WithoutReplacement:
		if err := in.Subset(e.Batch, e.Size); err != nil {
			return err
		}
		return w.sampled(e, e.Event, times, s, sampling{kind: without, batch: e.Batch, size: e.Size})
	case WithReplacement:
		if err := in.Batch(e.Batch, e.Size); err != nil {
			return err
		}
		return w.sampled(e, e.Event, times, s, sampling{kind: with, batch: e.Batch, size: e.Size})
	case RepeatAndSelect:
		return w.selection(e, times, s)
	case TruncatedPoisson:
		return w.truncated(e, times, s)
	case Allocation:
		return w.allocation(e, times, s)
	case Mechanism:
		return w.mechanism(e, times, s)
	}
	return noPair(e, "neither a mechanism nor a sample or composition of this package")
}

func (w *walker) repeat(e Repeat, times int, s sampling) error {
	if e.Times < 0 {
		return bad("times = %d: must be at least 0", e.Times)
	}
	if e.Times > math.MaxInt/max(1, times) {
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
		s.rate = math.Nextafter(s.rate*outer.rate, 1) // rounded up, also where it underflows
	}
	return w.walk(inner, times, s)
}

// mechanism adds a leaf.
func (w *walker) mechanism(m Mechanism, times int, s sampling) error {
	return w.leaf(part{mechanism: m, sampling: s}, times, func() (pair.Pair, error) {
		b, err := newBatch(s, w.span, w.exchange, &w.directed)
		if err != nil {
			return nil, err
		}
		return pairOf(m, b)
	})
}

// pairOf is the mechanism's pair, which must not be nil.
func pairOf(m Mechanism, b Batch) (pair.Pair, error) {
	p, err := m.Pair(b)
	if v := reflect.ValueOf(p); err == nil && (!v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()) {
		return nil, bad("%v: Pair returned nil", m)
	}
	return p, err
}

// leaf adds a pair, or counts it with an equal one.
func (w *walker) leaf(key part, times int, make func() (pair.Pair, error)) error {
	comparable := reflect.ValueOf(key.mechanism).Comparable() // mechanisms of other packages need not be
	if comparable {
		if i, ok := w.times[key]; ok {
			if w.steps[i].Times > math.MaxInt-times {
				return bad("times: the sum of the steps is too large")
			}
			w.steps[i].Times += times
			return nil
		}
	}
	p, err := make()
	if err != nil || times == 0 {
		return err
	}
	if comparable {
		w.times[key] = len(w.steps)
	}
	w.steps = append(w.steps, pair.Step{Pair: p, Times: times})
	return nil
}
