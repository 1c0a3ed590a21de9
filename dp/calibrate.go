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

// quick is the accountant for the many questions of a search. Its bounds are no less safe.
func (b Budget) quick() Accountant {
	a, ok := b.accountant().(Best)
	if !ok {
		return b.Accountant
	}
	if a.grid == 0 {
		a.grid, a.cells = roughGrid, gridWork/4
	}
	return a
}

// excess returns log(ε/budget) of an event: at most 0 when it meets the budget, +Inf without a finite bound.
func (b Budget) excess(ctx context.Context, e Event) (float64, error) {
	g, err := EpsilonContext(ctx, b.quick(), e, b.Relation, b.Delta)
	switch {
	case errors.Is(err, ErrUnbounded):
		return math.Inf(1), nil
	case err != nil:
		return 0, err
	case g.Epsilon == 0:
		return math.Inf(-1), nil
	case g.Epsilon <= b.Epsilon:
		return min(0, math.Log(g.Epsilon/b.Epsilon)), nil
	}
	return max(math.SmallestNonzeroFloat64, math.Log(g.Epsilon/b.Epsilon)), nil
}

// trial is a value with its excess.
type trial struct{ x, excess float64 }

// between guesses where the excess is 0 between a value that meets the budget and one that does not: by the secant where both are finite
// and it was not one-sided lately, else in the middle.
func between(good, bad trial, bisect bool) float64 {
	w := 0.5
	if d := bad.excess - good.excess; !bisect && !math.IsInf(d, 0) && !math.IsNaN(d) {
		w = min(0.99, max(0.01, -good.excess/d))
	}
	return good.x + w*(bad.x-good.x)
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
	at := func(logX float64) (trial, error) {
		v, err := b.excess(ctx, event(math.Exp(logX)))
		return trial{logX, v}, err
	}
	good, bad, err := bracket(at, math.Log(start), math.Log(safe), math.Log(unsafe))
	if errors.Is(err, ErrUnreachable) {
		err = fmt.Errorf("dp: %s up to %g: eps = %v at delta = %v: %w", name, safe, b.Epsilon, b.Delta, err)
	}
	if err != nil {
		return 0, Guarantee{}, err
	}
	// Every third step bisects, so that a curved or jagged excess costs no more than three times bisection.
	for k := 0; math.Abs(bad.x-good.x) > 1e-9 && good.excess < -1e-9; k++ {
		mid, err := at(between(good, bad, k%3 == 2))
		if err != nil {
			return 0, Guarantee{}, err
		}
		if mid.excess <= 0 {
			good = mid
		} else {
			bad = mid
		}
	}
	x := math.Exp(good.x)
	g, err := EpsilonContext(ctx, b.accountant(), event(x), b.Relation, b.Delta)
	return x, g, err
}

// bracket walks from start, in growing steps, to a value that meets the budget and one that does not. Where even the unsafe end
// meets it, both are that end.
func bracket(at func(float64) (trial, error), start, safe, unsafe float64) (good, bad trial, err error) {
	now, err := at(start)
	if err != nil {
		return now, now, err
	}
	ok := now.excess <= 0
	end := safe
	if ok {
		end = unsafe
	}
	for step := math.Ln2; now.x != end; step *= 2 {
		x := min(end, now.x+step)
		if end < now.x {
			x = max(end, now.x-step)
		}
		next, err := at(x)
		switch {
		case err != nil:
			return now, next, err
		case next.excess <= 0 && !ok:
			return next, now, nil
		case next.excess > 0 && ok:
			return now, next, nil
		}
		now = next
	}
	if ok {
		return now, now, nil
	}
	return now, now, ErrUnreachable
}

// maxSteps bounds the search for a number of steps.
const maxSteps = 1_000_000_000_000

// MaxSteps returns the largest T up to 1e12 such that event(T) meets the budget, 0 when not even one step does.
func MaxSteps(ctx context.Context, b Budget, event func(steps int) Event) (int, error) {
	if err := b.check(); err != nil {
		return 0, err
	}
	good, bad := trial{0, math.Inf(-1)}, trial{1, 0}
	for {
		v, err := b.excess(ctx, event(int(bad.x)))
		if err != nil {
			return 0, err
		}
		bad.excess = v
		if v > 0 {
			break
		}
		good = bad
		if bad.x == maxSteps {
			return maxSteps, nil
		}
		bad.x = min(maxSteps, 4*bad.x)
	}
	for k := 0; bad.x-good.x > 1; k++ {
		x := min(bad.x-1, max(good.x+1, math.Floor(between(good, bad, k%3 == 2))))
		v, err := b.excess(ctx, event(int(x)))
		if err != nil {
			return 0, err
		}
		if v <= 0 {
			good = trial{x, v}
		} else {
			bad = trial{x, v}
		}
	}
	return b.more(ctx, event, int(good.x))
}

// more asks the accountant proper for the few steps that the quick one, which is less sharp, did not grant: in steps that double, and then
// halve, with at most fullAnswers answers.
func (b Budget) more(ctx context.Context, event func(steps int) Event, n int) (int, error) {
	step, grow := 1, true
	for range fullAnswers {
		if step == 0 || n+step > maxSteps {
			break
		}
		g, err := EpsilonContext(ctx, b.accountant(), event(n+step), b.Relation, b.Delta)
		switch {
		case err != nil && !errors.Is(err, ErrUnbounded):
			return 0, err
		case err == nil && g.Epsilon <= b.Epsilon:
			n += step
			if grow {
				step *= 2
			} else {
				step /= 2
			}
		default:
			grow = false
			step /= 2
		}
	}
	return n, nil
}

// fullAnswers may each take a second.
const fullAnswers = 8

// StepsLeft returns how many more times next may run after spent (nil: nothing was spent) within the budget.
func StepsLeft(ctx context.Context, b Budget, spent, next Event) (int, error) {
	return MaxSteps(ctx, b, func(steps int) Event {
		if spent == nil {
			return Repeat{Times: steps, Event: next}
		}
		return Compose{spent, Repeat{Times: steps, Event: next}}
	})
}
