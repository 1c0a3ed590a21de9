package dp

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"sync"

	"coupling/dp/pair"
	"coupling/dp/pld"
)

// allocation adds epochs of a random allocation.
func (w *walker) allocation(e Allocation, times int, s sampling) error {
	if e.Steps < 1 || e.Selected < 1 || e.Selected > e.Steps {
		return bad("Allocation: %d of %d steps: must be at least 1, and at most all", e.Selected, e.Steps)
	}
	if s.kind != everything {
		return noPair(e, "a sample of which records are allocated")
	}
	m, ok := e.Event.(Mechanism)
	switch {
	case !ok:
		return noPair(e,
			"an allocation to steps that are not one mechanism each: samples and compositions must be outside")
	case e.Selected > math.MaxInt/max(1, times) || e.Steps > math.MaxInt/max(1, times):
		return bad("times = %d × %d: too many", times, e.Steps)
	case e.Selected == e.Steps:
		return w.mechanism(m, times*e.Steps, s)
	case w.span.total != 1 || w.exchange:
		return noPair(e,
			"an allocation where more than one record is inserted or removed, or one is replaced; ask for "+
				"add/remove and one record")
	}
	w.directed, w.loose = true, w.loose || e.Selected > 1
	length := e.Steps / e.Selected
	longer := e.Steps - length*e.Selected
	err := w.allocated(e, m, length, times*(e.Selected-longer))
	if err == nil && longer > 0 {
		err = w.allocated(e, m, length+1, times*longer)
	}
	return err
}

// allocated adds blocks of steps in one of which the record takes part.
func (w *walker) allocated(e Allocation, m Mechanism, steps, times int) error {
	if steps == 1 {
		return w.mechanism(m, times, sampling{})
	}
	return w.leaf(part{mechanism: m, steps: steps, cells: w.cells}, times, func() (pair.Pair, error) {
		p, err := recent.removal(m, steps, w.cells)
		switch {
		case errors.Is(err, ErrNotApplicable):
			return nil, fmt.Errorf("dp: %v: %w", e, err)
		case err != nil:
			return nil, err
		case w.span.most == 0:
			return p.Swap(), nil
		}
		return p, nil
	})
}

// removal returns the pair of the removal of one record that takes part in one of the steps.
func removal(m Mechanism, steps, cells int) (pair.Pair, error) {
	p, err := pairAt(m, sampling{}, span{1, 1, 1})
	if err != nil {
		return nil, err
	}
	if !(p.RelErr() < 1) {
		return nil, noPair(m, "an allocation of a mechanism known by its moments")
	}
	return pld.Allocated(p, steps, cells)
}

// A memory holds the last pairs of allocations, which take up to a second each.
type memory struct {
	lock  sync.Mutex
	known [16]struct {
		part part
		pair pair.Pair
	}
	next int
}

var recent memory

func (r *memory) removal(m Mechanism, steps, cells int) (pair.Pair, error) {
	key := part{mechanism: m, steps: steps, cells: cells}
	if !reflect.ValueOf(m).Comparable() {
		return removal(m, steps, cells)
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, k := range r.known {
		if k.part == key {
			return k.pair, nil
		}
	}
	p, err := removal(m, steps, cells)
	if err == nil {
		r.known[r.next].part, r.known[r.next].pair = key, p
		r.next = (r.next + 1) % len(r.known)
	}
	return p, err
}

// cellsFor is how many cells the laws of allocations have for a question: fewer in the first stages
// of a search.
func cellsFor(q pair.Question) int {
	switch {
	case q.Width >= 1e-2:
		return pld.FineLaw / 8
	case q.Effort > 0:
		return pld.FineLaw / 2
	}
	return pld.FineLaw
}
