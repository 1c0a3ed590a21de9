package dp

import (
	"context"
	"fmt"
	"math"

	"coupling/dp/pair"
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
	return EpsilonContext(context.Background(), a, e, r, delta)
}

// DeltaBy is Delta with an accountant of one's choice.
func DeltaBy(a Accountant, e Event, r Relation, eps float64) (Guarantee, error) {
	return DeltaContext(context.Background(), a, e, r, eps)
}

// EpsilonContext is EpsilonBy, ended with the error of ctx when that is done. Cost: milliseconds where the contour integral applies to the
// worst branch, some seconds at most where privacy-loss distributions are needed.
func EpsilonContext(ctx context.Context, a Accountant, e Event, r Relation, delta float64) (Guarantee, error) {
	if err := checkDelta(delta); err != nil {
		return nothing(), err
	}
	first, other := shareWork(a, r)
	branches, err := Branches(e, r)
	if err != nil {
		return nothing(), err
	}
	w := search{branches: branches}
	w.ask = func(steps []pair.Step, i int) (pair.Interval, string, error) {
		if delta == 0 {
			v, err := pureEpsilon(steps)
			return v, "pure", err
		}
		return askBest(ctx, turn(i, first, other), steps, func(a Accountant) (pair.Interval, error) { return epsilonOf(ctx, a, steps, delta) })
	}
	if d, ok := deciderOf(other); ok && delta > 0 { // a branch with δ(v) ≤ delta has ε ≤ v
		w.like = func(steps []pair.Step, v float64, by string) likeness { return likenessOf(steps, by, v) }
		w.within = func(steps []pair.Step, v float64, like likeness) bool { return d.below(ctx, steps, v, delta, like) }
	}
	g, v, err := w.worst(ctx)
	if err != nil {
		return nothing(), err
	}
	g.Epsilon, g.Delta, g.Relation = v, delta, r
	return g, nil
}

// DeltaContext is DeltaBy, ended with the error of ctx when that is done. Its cost is that of EpsilonContext.
func DeltaContext(ctx context.Context, a Accountant, e Event, r Relation, eps float64) (Guarantee, error) {
	if err := checkEpsilon(eps); err != nil {
		return nothing(), err
	}
	first, other := shareWork(a, r)
	branches, err := Branches(e, r)
	if err != nil {
		return nothing(), err
	}
	w := search{branches: branches}
	w.ask = func(steps []pair.Step, i int) (pair.Interval, string, error) {
		v, name, err := askBest(ctx, turn(i, first, other), steps, func(a Accountant) (pair.Interval, error) { return deltaOf(ctx, a, steps, eps) })
		if v.Upper > 1-1e-9 { // no branch exceeds 1
			v.Upper = 1
		}
		return v, name, err
	}
	if d, ok := deciderOf(other); ok {
		w.like = func(steps []pair.Step, _ float64, by string) likeness { return likenessOf(steps, by, eps) }
		w.within = func(steps []pair.Step, v float64, like likeness) bool { return d.below(ctx, steps, eps, v, like) }
	}
	g, v, err := w.worst(ctx)
	if err != nil {
		return nothing(), err
	}
	g.Epsilon, g.Delta, g.Relation = eps, v, r
	return g, nil
}

// turn is who answers for branch i.
func turn(i int, first, other Accountant) Accountant {
	if i == 0 {
		return first
	}
	return other
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
