package dp

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"

	"coupling/dp/contour"
	"coupling/dp/pair"
	"coupling/dp/pld"
)

// Epsilon returns the least ε ≥ 0 at which an event is (ε, delta)-differentially private under a relation, by the best accountant that
// applies, for delta in [0, 1). At delta = 0 it is the sum of the largest losses. Errors wrap ErrParameter, ErrNoPair or ErrUnbounded.
func Epsilon(e Event, r Relation, delta float64) (Guarantee, error) {
	return EpsilonBy(Best{}, e, r, delta)
}

// Delta returns the least δ at which an event is (eps, δ)-differentially private under a relation, for finite eps ≥ 0.
func Delta(e Event, r Relation, eps float64) (Guarantee, error) { return DeltaBy(Best{}, e, r, eps) }

// EpsilonBy is Epsilon with an accountant of one's choice.
func EpsilonBy(a Accountant, e Event, r Relation, delta float64) (Guarantee, error) {
	if err := checkDelta(delta); err != nil {
		return Guarantee{}, err
	}
	a = shareWork(a, r)
	ask := func(steps []pair.Step) (pair.Interval, string, error) {
		if delta == 0 {
			v, err := pureEpsilon(steps)
			return v, "pure", err
		}
		return askBest(a, steps, func(a Accountant) (pair.Interval, error) { return a.Epsilon(steps, delta) })
	}
	// A branch with δ(v) ≤ delta has ε ≤ v: one evaluation, which may be coarse, instead of a search.
	within := func(steps []pair.Step, v float64) bool {
		if _, auto := a.(Best); !auto || delta == 0 {
			return false
		}
		for _, c := range []Accountant{Profile{}, contour.Accountant{Work: leastWork}, pld.Accountant{Width: 0.3}} {
			if d, err := c.Delta(steps, v); err == nil {
				return d.Upper <= delta
			}
		}
		return false
	}
	g, v, err := worst(e, r, ask, within)
	if err != nil {
		return Guarantee{}, err
	}
	g.Epsilon, g.Delta = v, delta
	return g, nil
}

// DeltaBy is Delta with an accountant of one's choice.
func DeltaBy(a Accountant, e Event, r Relation, eps float64) (Guarantee, error) {
	if err := checkEpsilon(eps); err != nil {
		return Guarantee{}, err
	}
	a = shareWork(a, r)
	g, v, err := worst(e, r, func(steps []pair.Step) (pair.Interval, string, error) {
		return askBest(a, steps, func(a Accountant) (pair.Interval, error) { return a.Delta(steps, eps) })
	}, func([]pair.Step, float64) bool { return false })
	if err != nil {
		return Guarantee{}, err
	}
	g.Epsilon, g.Delta = eps, v
	return g, nil
}

// worst asks for every branch of the relation and takes the largest answer. Branches that are known to be within the answer of the
// first (all records removed: mostly the worst) are passed over; they are found in parallel, and the result does not depend on how.
func worst(e Event, r Relation, ask func([]pair.Step) (pair.Interval, string, error), within func([]pair.Step, float64) bool) (g Guarantee, v float64, err error) {
	branches, err := Branches(e, r)
	if err != nil {
		return Guarantee{}, 0, err
	}
	v = -1
	var passed []bool
	for i, b := range branches {
		if i > 0 && passed[i] {
			continue
		}
		in, name, err := ask(b.Steps)
		if err == nil && (math.IsNaN(in.Upper) || math.IsInf(in.Upper, 0) || in.Upper < 0) {
			err = fmt.Errorf("dp: %s answered %v: %w", name, in.Upper, ErrUnbounded)
		}
		if err != nil {
			return Guarantee{}, 0, fmt.Errorf("dp: %v inserted, %v removed: %w", b.Inserted, b.Removed, err)
		}
		g.Lower = max(g.Lower, in.Lower)
		if in.Upper > v {
			v = in.Upper
			g.Accountant, g.Inserted, g.Removed = name, b.Inserted, b.Removed
		}
		if i == 0 {
			passed = each(branches, func(b Branch) bool { return within(b.Steps, v) })
		}
	}
	g.Lower = min(g.Lower, v)
	g.Relation = r
	g.Kind = kindOf(g.Lower, v)
	return g, v, nil
}

// each asks a question about all branches but the first, on all processors.
func each(branches []Branch, ask func(Branch) bool) []bool {
	out := make([]bool, len(branches))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := 1; i < len(branches); i++ {
		group.Go(func() error {
			out[i] = ask(branches[i])
			return nil
		})
	}
	_ = group.Wait() // no question fails
	return out
}

// pureEpsilon is the sum of the largest losses, rounded up.
func pureEpsilon(steps []pair.Step) (pair.Interval, error) {
	sum := 0.0
	for _, s := range steps {
		sum += float64(s.Times) * max(0, s.Pair.Support().Max)
	}
	if math.IsInf(sum, 1) {
		return pair.Interval{}, fmt.Errorf("dp: eps at delta = 0: the loss is unbounded: %w", ErrUnbounded)
	}
	room := 1e-14 + 4e-16*float64(len(steps))
	return pair.Interval{Lower: sum * (1 - room), Upper: sum * (1 + room)}, nil
}

// Best is the accountant that asks Profile and then the others, the sharpest first.
type Best struct {
	// Work limits the evaluations of the contour accountant, after which dp/pld takes over; 0 means 3e7 (about a second), shared among the
	// branches of a relation.
	Work int
}

const (
	fullWork  = 30_000_000
	leastWork = 2_000_000
)

// shareWork gives every branch its part of the work.
func shareWork(a Accountant, r Relation) Accountant {
	if b, ok := a.(Best); ok && b.Work == 0 {
		n := 1
		if r.Kind == AddRemove {
			n = r.size() + 1
		}
		return Best{Work: max(leastWork, fullWork/n)}
	}
	return a
}

// Name is "auto".
func (Best) Name() string { return "auto" }

// Epsilon asks the accountants in turn.
func (b Best) Epsilon(steps []pair.Step, delta float64) (pair.Interval, error) {
	v, _, err := askBest(b, steps, func(a Accountant) (pair.Interval, error) { return a.Epsilon(steps, delta) })
	return v, err
}

// Delta asks the accountants in turn.
func (b Best) Delta(steps []pair.Step, eps float64) (pair.Interval, error) {
	v, _, err := askBest(b, steps, func(a Accountant) (pair.Interval, error) { return a.Delta(steps, eps) })
	return v, err
}

// candidates lists accountants by sharpness.
func (b Best) candidates() []Accountant {
	return []Accountant{Profile{}, contour.Accountant{Work: b.Work}, pld.Accountant{}, RDP{}}
}

// sharp is the relative width from which on no further accountant is asked.
const sharp = 1e-3

// askBest asks one accountant, or for Best the candidates until the number is known sharply; the least upper bound is taken.
func askBest(a Accountant, steps []pair.Step, ask func(Accountant) (pair.Interval, error)) (pair.Interval, string, error) {
	auto, ok := a.(Best)
	if !ok {
		v, err := ask(a)
		return v, a.Name(), err
	}
	var errs []error
	best, name := pair.Interval{Upper: math.Inf(1)}, ""
	for _, c := range auto.candidates() {
		v, err := ask(c)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		best.Lower = max(best.Lower, v.Lower)
		if v.Upper < best.Upper {
			best.Upper, name = v.Upper, c.Name()
		}
		if _, known := c.(Profile); known || best.Upper-best.Lower <= sharp*best.Upper {
			break
		}
	}
	if name != "" {
		best.Lower = min(best.Lower, best.Upper)
		return best, name, nil
	}
	return pair.Interval{}, a.Name(), errors.Join(errs...)
}
