package dp

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// ErrUnreachable marks a budget that no value of the parameter meets.
var ErrUnreachable = errors.New("no value meets the budget")

// Budget is what may be spent: ε at δ under a relation. Accountant nil means the best.
type Budget struct {
	Epsilon, Delta float64
	Relation       Relation
	Accountant     Accountant
}

func (b Budget) check() error {
	if err := checkDelta(b.Delta); err != nil {
		return err
	}
	return checkEpsilon(b.Epsilon)
}

func (b Budget) accountant() Accountant {
	if b.Accountant == nil {
		return Best{}
	}
	return b.Accountant
}

// meets says whether an event stays within the budget. An event without a finite bound does not; any other error is returned.
func (b Budget) meets(ctx context.Context, e Event) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	g, err := EpsilonBy(b.accountant(), e, b.Relation, b.Delta)
	if errors.Is(err, ErrUnbounded) {
		return false, nil
	}
	return err == nil && g.Epsilon <= b.Epsilon, err
}

// MinNoise returns the least x in [1e-4, 1e9], to 1e-9 relative and rounded to the safe side, such that event(x) meets the budget, for an
// event whose ε falls with x: a noise multiplier or a scale. The guarantee is that of the event at x. Cost: some 50 accountings.
func MinNoise(ctx context.Context, b Budget, event func(noise float64) Event) (float64, Guarantee, error) {
	return b.search(ctx, event, "noise", 1, 1e9, 1e-4)
}

// MaxRate returns the largest sampling rate in [1e-15, 1], to 1e-9 relative and rounded down, such that event(rate) meets the budget.
func MaxRate(ctx context.Context, b Budget, event func(rate float64) Event) (float64, Guarantee, error) {
	return b.search(ctx, event, "rate", 0.01, 1e-15, 1)
}

// search finds where a monotone budget is just met, in logs between safe, where it is met if anywhere, and unsafe.
func (b Budget) search(ctx context.Context, event func(float64) Event, name string, start, safe, unsafe float64) (float64, Guarantee, error) {
	if err := b.check(); err != nil {
		return 0, Guarantee{}, err
	}
	good, bad, err := b.bracket(ctx, event, name, start, safe, unsafe)
	if err != nil {
		return 0, Guarantee{}, err
	}
	for math.Abs(math.Log(good/bad)) > 1e-9 {
		mid := math.Sqrt(good) * math.Sqrt(bad)
		ok, err := b.meets(ctx, event(mid))
		if err != nil {
			return 0, Guarantee{}, err
		}
		if ok {
			good = mid
		} else {
			bad = mid
		}
	}
	g, err := EpsilonBy(b.accountant(), event(good), b.Relation, b.Delta)
	return good, g, err
}

// bracket walks from start, in growing steps, to a value that meets the budget and one that does not (or the end of the range).
func (b Budget) bracket(ctx context.Context, event func(float64) Event, name string, start, safe, unsafe float64) (good, bad float64, err error) {
	ok, err := b.meets(ctx, event(start))
	if err != nil {
		return 0, 0, err
	}
	end := safe
	if ok {
		end = unsafe
	}
	x := start
	for factor := 2.0; x != end; factor *= factor {
		next := x * factor
		if end < x {
			next = max(end, x/factor)
		} else {
			next = min(end, next)
		}
		now, err := b.meets(ctx, event(next))
		switch {
		case err != nil:
			return 0, 0, err
		case now && !ok:
			return next, x, nil
		case !now && ok:
			return x, next, nil
		}
		x = next
	}
	if ok {
		return end, end, nil
	}
	return 0, 0, fmt.Errorf("dp: %s up to %g: eps = %v at delta = %v: %w", name, safe, b.Epsilon, b.Delta, ErrUnreachable)
}

// maxSteps bounds the search for a number of steps.
const maxSteps = 1_000_000_000_000

// MaxSteps returns the largest T up to 1e12 such that event(T) meets the budget, 0 when not even one step does.
func MaxSteps(ctx context.Context, b Budget, event func(steps int) Event) (int, error) {
	if err := b.check(); err != nil {
		return 0, err
	}
	good, bad := 0, 1
	for {
		ok, err := b.meets(ctx, event(bad))
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		good = bad
		if bad == maxSteps {
			return good, nil
		}
		bad = min(maxSteps, 4*bad)
	}
	for bad-good > 1 {
		mid := good + (bad-good)/2
		ok, err := b.meets(ctx, event(mid))
		if err != nil {
			return 0, err
		}
		if ok {
			good = mid
		} else {
			bad = mid
		}
	}
	return good, nil
}

// StepsLeft returns how many more times next may run after spent (nil: nothing was spent) within the budget.
func StepsLeft(ctx context.Context, b Budget, spent, next Event) (int, error) {
	return MaxSteps(ctx, b, func(steps int) Event {
		if spent == nil {
			return Repeat{Times: steps, Event: next}
		}
		return Compose{spent, Repeat{Times: steps, Event: next}}
	})
}
