package dp

import (
	"context"
	"errors"
	"fmt"
	"math"

	"coupling/dp/pld"
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

// stages are the accountants that a search asks, the last one the budget's own: rough answers say where sharp ones are worth their time.
// All are safe.
func (b Budget) stages() []Accountant {
	a, ok := b.accountant().(Best)
	if !ok || a.Width > 0 {
		return []Accountant{b.accountant()}
	}
	rough, middle := a, a
	rough.Width = 1e-2
	middle.grid, middle.cells = roughGrid, gridWork/4
	return []Accountant{rough, middle, a}
}

// A trial is a value of the parameter with what was found there.
type trial struct {
	x      float64 // log of the value
	excess float64 // log(ε/budget): at most 0 when it meets the budget, +Inf without a finite bound
	blur   float64 // how far off ε may be, relatively
	g      Guarantee
}

func (t trial) ok() bool { return t.excess <= 0 }

// near is how little of the budget may be left over so that it is not worth looking further: the accountant could hardly tell, and
// no more than a part in a thousand, however little is known from below.
func (t trial) near(share float64) float64 { return max(1e-9, min(1e-3, share*t.blur)) }

// A hunt looks for the value of a parameter at which a monotone budget is just met.
type hunt struct {
	Budget
	event        func(float64) Event
	safe, unsafe float64 // logs of the ends: at safe the budget is met if anywhere
	whole        bool    // values are integers
	slope        float64 // of the excess, at the last two trials
	grids        *trial  // the last trial of this stage, if it took privacy-loss distributions
}

// try asks for the excess at a value, which it rounds if need be.
func (h *hunt) try(ctx context.Context, a Accountant, x float64) (trial, error) {
	value := math.Exp(x)
	if h.whole {
		value = math.Round(value)
		x = math.Log(value)
	}
	t := trial{x: x}
	if best, ok := a.(Best); ok && h.grids != nil && math.Abs(h.grids.x-x) < 0.2 {
		best.grids = true
		a = best
	}
	g, err := EpsilonContext(ctx, a, h.event(value), h.Relation, h.Delta)
	switch {
	case errors.Is(err, ErrUnbounded):
		t.excess = math.Inf(1)
		return t, nil
	case err != nil:
		return t, err
	}
	t.g = g
	h.grids = nil
	if g.Accountant == (pld.Accountant{}).Name() {
		h.grids = &trial{x: x}
	}
	switch {
	case g.Epsilon == 0:
		t.excess = math.Inf(-1)
	case g.Epsilon <= h.Epsilon:
		t.excess = min(0, math.Log(g.Epsilon/h.Epsilon))
	default:
		t.excess = max(math.SmallestNonzeroFloat64, math.Log(g.Epsilon/h.Epsilon))
	}
	t.blur = min(1, (g.Epsilon-g.Lower)/g.Epsilon)
	return t, nil
}

// run goes through the stages, each from where the one before ended.
func (h *hunt) run(ctx context.Context, start float64) (trial, error) {
	stages := h.stages()
	var t trial
	var err error
	for i, a := range stages {
		share := 0.3
		if i+1 < len(stages) {
			share = 1
		}
		t, err = h.stage(ctx, a, start, share)
		if err != nil && (i+1 == len(stages) || !errors.Is(err, ErrUnreachable)) {
			return t, err
		}
		if err == nil && kindOf(t.g.Lower, t.g.Epsilon) == Exact && i > 0 {
			break
		}
		start = t.x
	}
	return t, err
}

// stage returns the last value that meets the budget; with ErrUnreachable there is none, and it is the safe end.
func (h *hunt) stage(ctx context.Context, a Accountant, start, share float64) (trial, error) {
	var good, bad *trial
	stride := math.Ln2
	h.grids = nil
	for k := 0; ; k++ {
		t, err := h.try(ctx, a, start)
		if err != nil {
			return t, err
		}
		h.learn(good, bad, t)
		if t.ok() {
			good = &t
		} else {
			bad = &t
		}
		switch {
		case good == nil && bad.x == h.safe:
			return *bad, ErrUnreachable
		case good != nil && (-good.excess <= good.near(share) || good.x == h.unsafe):
			return *good, nil
		case good == nil || bad == nil:
			start = h.beyond(t, stride, t.near(share)/2)
			if k > 0 {
				stride *= 2
			}
		default:
			next, ok := h.inside(*good, *bad, k%3 == 2, good.near(share)/2)
			if !ok {
				return *good, nil
			}
			start = next
		}
	}
}

// learn notes the slope between a trial and the one before.
func (h *hunt) learn(good, bad *trial, t trial) {
	for _, o := range [...]*trial{good, bad} {
		if o == nil || o.x == t.x {
			continue
		}
		if v := (t.excess - o.excess) / (t.x - o.x); !math.IsInf(v, 0) && !math.IsNaN(v) && v*(h.unsafe-h.safe) > 0 {
			h.slope = v
		}
	}
}

// beyond says where to look when only one side is known: where all but rest of the budget should be spent, or a stride away.
func (h *hunt) beyond(t trial, stride, rest float64) float64 {
	end := h.unsafe
	if !t.ok() {
		end = h.safe
	}
	step := stride
	if h.slope != 0 && stride < 4 && !math.IsInf(t.excess, 0) {
		step = min(step, math.Abs((t.excess+rest)/h.slope)+1e-10)
	}
	if h.whole { // to the next integer at least
		if end > t.x {
			step = max(step, math.Log1p(math.Exp(-t.x)))
		} else {
			step = max(step, -math.Log1p(-math.Exp(-t.x)))
		}
	}
	if math.Abs(end-t.x) <= step {
		return end
	}
	return t.x + math.Copysign(step, end-t.x)
}

// inside says where to look between a value that meets the budget and one that does not: where by the secant all but rest is spent, where
// both are finite and it was not one-sided lately, else in the middle; and false when they are next to each other.
func (h *hunt) inside(good, bad trial, bisect bool, rest float64) (float64, bool) {
	w := 0.5
	if d := bad.excess - good.excess; !bisect && !math.IsInf(d, 0) && !math.IsNaN(d) {
		w = min(0.99, max(0.01, -(good.excess+rest)/d))
	}
	x := good.x + w*(bad.x-good.x)
	if !h.whole {
		return x, math.Abs(bad.x-good.x) > 1e-9
	}
	a, b := math.Round(math.Exp(good.x)), math.Round(math.Exp(bad.x))
	n := min(max(math.Round(math.Exp(x)), min(a, b)+1), max(a, b)-1)
	return math.Log(n), math.Abs(a-b) > 1
}

// MinNoise returns the least x in [1e-4, 1e9] such that event(x) meets the budget, for an event whose ε falls with x: a noise multiplier or
// a scale. It is rounded to the safe side, by 1e-9 relative, or by what a third of the accountant's blur of ε comes to. The guarantee is
// that of the event at x. Cost: some 20 accountings, most of them rough.
func MinNoise(ctx context.Context, b Budget, event func(noise float64) Event) (float64, Guarantee, error) {
	return b.search(ctx, event, "noise", 1, 1e9, 1e-4)
}

// MaxRate returns the largest sampling rate in [1e-15, 1] such that event(rate) meets the budget, rounded down as MinNoise rounds up.
func MaxRate(ctx context.Context, b Budget, event func(rate float64) Event) (float64, Guarantee, error) {
	return b.search(ctx, event, "rate", 0.01, 1e-15, 1)
}

func (b Budget) search(ctx context.Context, event func(float64) Event, name string, start, safe, unsafe float64) (float64, Guarantee, error) {
	if err := b.check(); err != nil {
		return 0, nothing(), err
	}
	h := hunt{Budget: b, event: event, safe: math.Log(safe), unsafe: math.Log(unsafe)}
	t, err := h.run(ctx, math.Log(start))
	if errors.Is(err, ErrUnreachable) {
		err = fmt.Errorf("dp: %s up to %g: eps = %v at delta = %v: %w", name, safe, b.Epsilon, b.Delta, err)
	}
	if err != nil {
		return 0, nothing(), err
	}
	return math.Exp(t.x), t.g, nil
}

// maxSteps bounds the search for a number of steps.
const maxSteps = 1_000_000_000_000

// MaxSteps returns the largest T up to 1e12 such that event(T) meets the budget, 0 when not even one step does. Where the accountant's ε is
// not exact, T is the largest up to what a third of its blur comes to.
func MaxSteps(ctx context.Context, b Budget, event func(steps int) Event) (int, error) {
	if err := b.check(); err != nil {
		return 0, err
	}
	h := hunt{Budget: b, event: func(x float64) Event { return event(int(x)) }, unsafe: math.Log(maxSteps), whole: true}
	t, err := h.run(ctx, 0)
	if errors.Is(err, ErrUnreachable) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return int(math.Round(math.Exp(t.x))), nil
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
