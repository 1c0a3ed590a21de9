package dp

import (
	"context"
	"errors"
	"fmt"
	"math"

	"coupling/dp/pair"
	"coupling/dp/rdp"
)

// Accountant bounds δ and ε of a composition of dominating pairs, in the direction of the pairs. What it returns
// encloses the exact value: Upper is on the safe side; an accountant without a lower bound leaves Lower 0. It refuses, with an error,
// what it cannot bound. dp/dptest checks an implementation.
type Accountant interface {
	// Name is how guarantees name the accountant.
	Name() string
	// Epsilon bounds the least ε ≥ 0 with δ(ε) ≤ delta, for delta in (0, 1).
	Epsilon(steps []pair.Step, delta float64) (pair.Interval, error)
	// Delta bounds δ(ε) for finite ε ≥ 0.
	Delta(steps []pair.Step, eps float64) (pair.Interval, error)
}

// ContextAccountant is an accountant whose work can be ended: it then returns the error of the context.
type ContextAccountant interface {
	Accountant
	// EpsilonContext is Epsilon.
	EpsilonContext(ctx context.Context, steps []pair.Step, delta float64) (pair.Interval, error)
	// DeltaContext is Delta.
	DeltaContext(ctx context.Context, steps []pair.Step, eps float64) (pair.Interval, error)
}

// epsilonOf asks for ε, with the context where the accountant takes one.
func epsilonOf(ctx context.Context, a Accountant, steps []pair.Step, delta float64) (pair.Interval, error) {
	if c, ok := a.(ContextAccountant); ok {
		return c.EpsilonContext(ctx, steps, delta)
	}
	return a.Epsilon(steps, delta)
}

// deltaOf asks for δ, with the context where the accountant takes one.
func deltaOf(ctx context.Context, a Accountant, steps []pair.Step, eps float64) (pair.Interval, error) {
	if c, ok := a.(ContextAccountant); ok {
		return c.DeltaContext(ctx, steps, eps)
	}
	return a.Delta(steps, eps)
}

// ErrNotApplicable marks a composition that an accountant does not handle; another one may.
var ErrNotApplicable = errors.New("accountant not applicable")

// RDP is the accountant of dp/rdp: an upper bound for anything with moments.
type RDP struct {
	Conversion rdp.Conversion
	Orders     []float64 // if not empty, only these
}

// Name is "rdp".
func (RDP) Name() string { return "rdp" }

// Epsilon returns [0, upper bound].
func (a RDP) Epsilon(steps []pair.Step, delta float64) (pair.Interval, error) {
	r, err := rdp.Accountant{Conversion: a.Conversion, Orders: a.Orders}.Epsilon(steps, delta)
	if errors.Is(err, rdp.ErrUnbounded) {
		err = fmt.Errorf("%w: %w", err, ErrUnbounded)
	}
	return pair.Interval{Upper: r.Epsilon}, err
}

// Delta returns [0, upper bound].
func (a RDP) Delta(steps []pair.Step, eps float64) (pair.Interval, error) {
	r, err := rdp.Accountant{Conversion: a.Conversion, Orders: a.Orders}.Delta(steps, eps)
	return pair.Interval{Upper: r.Delta}, err
}

// Profile is the accountant of what has a known profile: a single step, unsampled Gaussian mechanisms, which compose to one (Dong,
// Roth, Su 2022), one mechanism on two points, such as randomised response, repeated, or on three of losses −a, 0 and a, and several of which
// one outcome reveals all.
type Profile struct{}

// Name is "profile".
func (Profile) Name() string { return "profile" }

// Epsilon inverts the profile.
func (Profile) Epsilon(steps []pair.Step, delta float64) (pair.Interval, error) {
	if !(delta > 0 && delta < 1) {
		return pair.Interval{}, bad("delta = %v: must be in (0, 1)", delta)
	}
	lo, hi, err := single(steps)
	if err != nil {
		return pair.Interval{}, err
	}
	logDelta := math.Log(delta)
	upper, ok := invert(hi, logDelta-2e-16*(1+math.Abs(logDelta)), hi.RelErr())
	if !ok {
		return pair.Interval{}, fmt.Errorf("dp: eps at delta = %v: %w", delta, ErrUnbounded)
	}
	lower, _ := invert(lo, logDelta+2e-16*(1+math.Abs(logDelta)), -lo.RelErr())
	return pair.Interval{Lower: lower * (1 - 1e-15), Upper: upper * (1 + 1e-15)}, nil
}

// Delta evaluates the profile.
func (Profile) Delta(steps []pair.Step, eps float64) (pair.Interval, error) {
	if err := checkEpsilon(eps); err != nil {
		return pair.Interval{}, err
	}
	lo, hi, err := single(steps)
	if err != nil {
		return pair.Interval{}, err
	}
	return pair.Interval{
		// The profile is that at an ε which is off by rounding.
		Lower: expRounded(lo.LogDelta(eps*(1+1e-15)), -lo.RelErr()),
		Upper: min(1, expRounded(hi.LogDelta(eps*(1-1e-15)), hi.RelErr())),
	}, nil
}

// expRounded returns e^(x + room), moved further in the direction of room by the rounding of x. Only e^−∞ is 0 when rounding up.
func expRounded(x, room float64) float64 {
	if math.IsInf(x, -1) {
		return 0
	}
	v := math.Exp(x + room + math.Copysign(4e-16*math.Abs(x), room))
	if room > 0 {
		return max(v, math.SmallestNonzeroFloat64)
	}
	return v
}

// single returns two profiles between which that of the composition lies.
func single(steps []pair.Step) (lo, hi profile, err error) {
	if len(steps) == 0 {
		return nil, nil, bad("steps: must not be empty")
	}
	for i, s := range steps {
		if s.Times < 1 {
			return nil, nil, bad("steps[%d].Times = %d: must be at least 1", i, s.Times)
		}
		if s.Pair == nil {
			return nil, nil, bad("steps[%d].Pair = nil: must be a pair", i)
		}
	}
	steps = informative(steps)
	if len(steps) == 1 && steps[0].Times == 1 {
		return steps[0].Pair, steps[0].Pair, nil
	}
	if r, ok := asRepeated(steps); ok {
		return r, r, nil
	}
	if lo, hi, ok := asRevealing(steps); ok {
		return lo, hi, nil
	}
	if lo, hi, ok := asWalk(steps); ok {
		return lo, hi, nil
	}
	sum := 0.0
	for _, s := range steps {
		m, ok := s.Pair.(*pair.Mixture)
		if !ok || m.Noise() != pair.Gaussian {
			return nil, nil, fmt.Errorf("dp: profile of several steps: %w", ErrNotApplicable)
		}
		p, q := m.Components()
		if len(p) != 1 || len(q) != 1 {
			return nil, nil, fmt.Errorf("dp: profile of several sampled steps: %w", ErrNotApplicable)
		}
		d := (p[0].Mean - q[0].Mean) / m.Scale()
		sum += float64(s.Times) * d * d
	}
	room := 2e-15 * float64(len(steps)+1)
	low, err := gaussianShift(math.Sqrt(sum) * (1 - room))
	if err != nil {
		return nil, nil, err
	}
	high, err := gaussianShift(math.Sqrt(sum) * (1 + room))
	if err != nil {
		return nil, nil, err
	}
	return low, high, nil
}

// informative leaves out steps that tell nothing about the data, P = Q; if that is all, one of them remains, once.
func informative(steps []pair.Step) []pair.Step {
	var out []pair.Step
	for _, s := range steps {
		if sup := s.Pair.Support(); sup.Min != 0 || sup.Max != 0 {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return []pair.Step{{Pair: steps[0].Pair, Times: 1}}
	}
	return out
}

// gaussianShift is N(d, 1) against N(0, 1).
func gaussianShift(d float64) (pair.Pair, error) {
	m, err := pair.NewMixture(pair.Gaussian, 1, []pair.Component{{Mean: d}}, []pair.Component{{}})
	if err != nil {
		return nil, fmt.Errorf("dp: composed shift %v: %w", d, ErrNotApplicable)
	}
	return m, nil
}

// invert returns the least ε ≥ 0 with log δ(ε) + room ≤ target, and false when there is none. By bisection to the last digit; the end
// at which the condition holds is returned.
func invert(p profile, target, room float64) (float64, bool) {
	holds := func(eps float64) bool { return p.LogDelta(eps)+room <= target }
	if holds(0) {
		return 0, true
	}
	lo, hi := 0.0, 1.0
	for !holds(hi) {
		if lo, hi = hi, 2*hi; hi > 1e300 {
			return 0, false
		}
	}
	for hi-lo > 1e-300 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if holds(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi, true
}
