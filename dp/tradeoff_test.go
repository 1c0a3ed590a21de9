package dp

import (
	"context"
	"fmt"
	"math"
	"testing"

	"coupling/dp/pair"
)

// Known trade-off functions bound the certified one from above, and it is close to them: that of
// the Gaussian, of Laplace noise and of randomised response (Dong, Roth, Su 2022).
func TestTradeOffKnown(t *testing.T) {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	quantile := func(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
	for _, c := range []struct {
		event Event
		want  func(alpha float64) float64
	}{
		{Repeat{4, Gaussian{2}}, func(a float64) float64 { return phi(quantile(1-a) - 1) }},
		{Laplace{1}, func(a float64) float64 {
			switch {
			case a < math.Exp(-1)/2:
				return 1 - math.E*a
			case a < .5:
				return math.Exp(-1) / (4 * a)
			}
			return math.Exp(-1) * (1 - a)
		}},
		{RandomizedResponse{.75}, func(a float64) float64 { return max(1-3*a, (1-a)/3) }},
	} {
		curve := must(must(Epsilon(t.Context(), c.event, Relation{}, .01)).TradeOff(t.Context(), 201))
		for a := 1. / 128; a < 1; a += 1. / 128 {
			if got, want := curve.At(a), c.want(a); got > want+1e-14 || got < want-2e-3 {
				t.Errorf("%v: type II error %v at %v, want %v", c.event, got, a, want)
			}
		}
	}
}

// μ of a Gaussian is its own, a little rounded up; and the curve of another event is above that of
// its μ wherever it was asked for.
func TestGDP(t *testing.T) {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	for _, c := range []struct {
		event     Event
		low, high float64
	}{{Repeat{4, Gaussian{2}}, 1, 1.002}, {SGD(1, .05, 100), .6, .9}, {Laplace{1}, .8, 1.2}} {
		curve := must(must(Epsilon(t.Context(), c.event, Relation{}, 1e-4)).TradeOff(t.Context(), 101))
		mu, err := curve.GDP(.02)
		if err != nil || mu < c.low || mu > c.high {
			t.Errorf("%v: μ = %v, %v; want in [%v, %v]", c.event, mu, err, c.low, c.high)
		}
		for a := .02; a <= .98; a += .003 {
			if g := phi(math.Sqrt2*math.Erfinv(1-2*a) - mu); g > curve.At(a)+1e-9 {
				t.Errorf("%v: G_μ(%v) = %v above %v", c.event, a, g, curve.At(a))
			}
		}
	}
	if _, err := (TradeOff{}).GDP(.7); err == nil {
		t.Error("alpha = .7 passed")
	}
	if _, err := (Guarantee{}).TradeOff(t.Context(), 9); err == nil {
		t.Error("a guarantee of no event has a curve")
	}
}

// shy refuses small noise or, beyond a value, large noise.
type shy struct {
	Best
	low, high float64
}

func (s shy) Bound(ctx context.Context, steps []pair.Step, q pair.Question) (pair.Answer, error) {
	if sigma := steps[0].Pair.(*pair.Mixture).Scale(); sigma < s.low || sigma > s.high {
		return pair.Answer{}, fmt.Errorf("shy: %v: %w", sigma, ErrNotApplicable)
	}
	return s.Best.Bound(ctx, steps, q)
}

// A search survives values for which an accountant has no answer, on either side of the one that it looks for.
func TestSearchPassesRefusals(t *testing.T) {
	find := func(a Accountant) float64 {
		noise, _, err := MinNoise(t.Context(), Budget{Epsilon: .01, Delta: 1e-6, Accountant: a},
			func(x float64) Event { return Gaussian{x} })
		if err != nil {
			t.Errorf("%+v: %v", a, err)
		}
		return noise
	}
	want := find(Best{})
	for _, a := range []shy{{low: .9 * want, high: math.Inf(1)}, {high: 1.1 * want}, {low: 3, high: 1.5 * want}} {
		if got := find(a); math.Abs(got/want-1) > 1e-6 {
			t.Errorf("%+v: %v, want %v", a, got, want)
		}
	}
	if _, _, err := MinNoise(t.Context(), Budget{Epsilon: .01, Delta: 1e-6, Accountant: shy{high: .5 * want}},
		func(x float64) Event { return Gaussian{x} }); err == nil {
		t.Error("found where there is no answer")
	}
}
