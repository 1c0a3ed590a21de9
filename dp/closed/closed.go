// Package closed accounts for compositions whose δ(ε) has a closed form or a short sum: a single
// step, unsampled Gaussian mechanisms, which compose to one (Dong, Roth, Su 2022), a few mechanisms
// on few points, and one mechanism on two points, such as randomised response, repeated. At δ = 0 it
// answers for every composition: ε is the sum of the largest losses.
package closed

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"coupling/dp/pair"
	"coupling/lab/logspace"
	"coupling/lab/root"
)

// Accountant is the accountant of closed forms. It is stateless and safe for concurrent use.
type Accountant struct{}

// Name is "closed form".
func (Accountant) Name() string { return "closed form" }

// Bound evaluates δ(ε), or inverts it. Errors: pair.ErrParameter, pair.ErrUnbounded,
// pair.ErrNotApplicable. Cost: microseconds, and for repeated mechanisms up to half a second.
func (a Accountant) Bound(ctx context.Context, steps []pair.Step, q pair.Question) (pair.Answer, error) {
	out := pair.Answer{By: a.Name()}
	err := q.Check("closed", steps)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return out, err
	}
	if !q.Delta && q.At == 0 {
		if out.Interval = pair.SumOfLargest(steps); math.IsInf(out.Upper, 1) {
			return out, fmt.Errorf("closed: eps at delta = 0: the loss is unbounded: %w", pair.ErrUnbounded)
		}
		return out, nil
	}
	most := 1.0
	if q.Like.Order == 0 { // else a contour was needed for as many steps
		most = distance(steps)
	}
	switch {
	case q.Delta && q.At >= pair.LargestLoss(steps):
		return out, nil
	case !q.Delta && most <= q.At: // ε = 0
		return out, nil
	case q.Delta && most <= q.Against:
		out.Upper = most
		return out, nil
	}
	lo, hi, err := curves(steps, q)
	switch {
	case err != nil:
	case q.Delta:
		// The curve is evaluated at an ε with a rounding error.
		out.Interval = pair.DeltaWithin(lo.LogDelta(q.At*(1+1e-15))-lo.RelErr(),
			hi.LogDelta(q.At*(1-1e-15))+hi.RelErr())
	default:
		out.Interval, err = inverse(steps, lo, hi, q.At)
	}
	return out, err
}

// distance bounds the total variation of the composition, which is δ(0), by the sum of the steps'.
func distance(steps []pair.Step) (sum float64) {
	for _, s := range steps {
		sum += float64(s.Times) * pair.DeltaWithin(math.Inf(-1), s.Pair.LogDelta(0)+s.Pair.RelErr()).Upper
	}
	return sum * (1 + 1e-15*float64(len(steps)+1))
}

// inverse bounds the least ε at which δ is reached.
func inverse(steps []pair.Step, lo, hi deltaCurve, delta float64) (pair.Interval, error) {
	logDelta := logspace.Log(delta)
	upper, ok := invert(hi, logDelta-2e-16*(1+math.Abs(logDelta)), hi.RelErr())
	if !ok {
		upper, ok = largestFinite(steps, hi, delta)
	}
	if !ok {
		return pair.Interval{}, fmt.Errorf("closed: eps at delta = %v: %w", delta, pair.ErrUnbounded)
	}
	lower, _ := invert(lo, logDelta+2e-16*(1+math.Abs(logDelta)), -lo.RelErr())
	return pair.Interval{Lower: lower * (1 - 1e-15), Upper: upper * (1 + 1e-15)}, nil
}

// largestFinite returns the largest finite loss, rounded up, if infinite loss has mass delta at most.
func largestFinite(steps []pair.Step, p deltaCurve, delta float64) (float64, bool) {
	d, ok := p.(product)
	if !ok {
		return 0, false
	}
	points := d.Points()
	last := len(points) - 1
	if last < 1 || !math.IsInf(points[last].Loss, 1) || points[last].P > delta && !lostAtMost(steps, delta) {
		return 0, false
	}
	a := points[last-1]
	return max(0, a.Loss+d.LossErr()), !math.IsInf(a.Loss, -1)
}

// lostAtMost reports whether 1 − Π(1 − P(L = ∞)) ≤ delta, as compositions of (ε, δ)-differential privacy have exactly:
// a comparison without rounding, of a few steps.
func lostAtMost(steps []pair.Step, delta float64) bool {
	const most = 16
	one := big.NewFloat(1).SetPrec(1100 * (most + 1))
	left := new(big.Float).Copy(one)
	for _, s := range steps {
		if s.Times > most || len(steps) > most {
			return false
		}
		stay := new(big.Float).Sub(one, big.NewFloat(s.Pair.Support().Infinite()))
		for range s.Times {
			left.Mul(left, stay)
		}
	}
	return left.Cmp(new(big.Float).Sub(one, big.NewFloat(delta))) >= 0
}

// refused names the composition that has no closed form.
func refused(what string) error {
	return fmt.Errorf("closed: no closed form of %s: %w", what, pair.ErrNotApplicable)
}

// deltaCurve is a known δ(ε).
type deltaCurve interface {
	LogDelta(eps float64) float64
	RelErr() float64
}

// curves returns two privacy curves that enclose that of the composition.
func curves(steps []pair.Step, q pair.Question) (lo, hi deltaCurve, err error) {
	steps = dropTrivial(steps)
	if lo, hi, ok := asProduct(steps); ok {
		return lo, hi, nil
	}
	if len(steps) == 1 && steps[0].Times == 1 && steps[0].Pair.RelErr() < 1 {
		under, _ := pair.Under(steps[0].Pair)
		return under, steps[0].Pair, nil
	}
	if lo, hi, ok := asRepeated(steps); ok {
		return lo, hi, nil
	}
	if lo, hi, ok := asPower(steps); ok {
		return lo, hi, nil
	}
	if lo, hi, ok := asHits(steps, q); ok {
		return lo, hi, nil
	}
	sum := 0.0
	for _, s := range steps {
		m, ok := s.Pair.(*pair.Mixture)
		if !ok || m.Noise() != pair.Gaussian {
			return nil, nil, refused("several steps")
		}
		p, q := m.Components()
		if len(p) != 1 || len(q) != 1 {
			return nil, nil, refused("several sampled steps")
		}
		d := (p[0].Mean - q[0].Mean) / m.Scale()
		sum += float64(s.Times) * d * d
	}
	room := 2e-15 * float64(len(steps)+1)
	lo, err = gaussianShift(math.Sqrt(sum) * (1 - room))
	if err == nil {
		hi, err = gaussianShift(math.Sqrt(sum) * (1 + room))
	}
	if err == nil && !(hi.RelErr() < 1) {
		err = refused("noise so small that squares of shifts have no digits")
	}
	return lo, hi, err
}

// dropTrivial leaves out steps with P = Q, which reveal nothing; if there are no others, one of
// them remains.
func dropTrivial(steps []pair.Step) []pair.Step {
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
		return nil, refused(fmt.Sprintf("a composed shift of %v", d))
	}
	return m, nil
}

// invert returns the least ε ≥ 0 with log δ(ε) + room ≤ target, and false when there is none. The
// condition holds there.
func invert(p deltaCurve, target, room float64) (float64, bool) {
	holds := func(eps float64) bool { return p.LogDelta(eps)+room <= target }
	if holds(0) {
		return 0, true
	}
	return root.Least(holds, 0, 1)
}
