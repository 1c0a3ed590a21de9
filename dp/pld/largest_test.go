package pld

import (
	"context"
	"errors"
	"math"
	"testing"

	"coupling/dp/pair"
	"coupling/lab/must"
)

// Of one step the test that the loss exceeds ε is the best: its power is δ(ε). Of several it is at most δ.
func TestLargestIsALowerBound(t *testing.T) {
	plain := must.Get(pair.Poisson(pair.Gaussian, 8, 1, 0, 1))
	sampled := must.Get(pair.Poisson(pair.Laplace, 1, .05, 1, 2))
	for _, p := range []pair.Pair{plain, sampled, sampled.Swap()} {
		for _, eps := range []float64{0, .01, .1, .4} {
			parts := must.Get(Accountant{}.parts([]pair.Step{{Pair: p, Times: 1}}))
			must.Do(parts[0].prepare(-600, 1))
			want := pair.Delta(p, eps)
			got := largest(parts, question{eps: eps})
			if got > want || got < want*(1-1e-6) && eps > 0 { // thresholds are searched to 1e-6 of their size
				t.Errorf("%v: ε = %v: power %v, δ = %v", p, eps, got, want)
			}
		}
	}
	// Sixteen steps of N(1/8, 1) are one of N(1/2, 1).
	one := must.Get(pair.Poisson(pair.Gaussian, 2, 1, 0, 1))
	parts := must.Get(Accountant{}.parts([]pair.Step{{Pair: plain, Times: 16}}))
	must.Do(parts[0].prepare(-600, 1))
	for _, eps := range []float64{0, .2, 1} {
		if got, want := largest(parts, question{eps: eps}), pair.Delta(one, eps); got > want {
			t.Errorf("ε = %v: power %v above δ = %v", eps, got, want)
		}
	}
	for _, delta := range []float64{1e-2, 1e-4} {
		e := largest(parts, question{logDelta: math.Log(delta), invert: true})
		if pair.Delta(one, e) < delta {
			t.Errorf("δ = %v: ε is said to be at least %v, where δ is %v already", delta, e, pair.Delta(one, e))
		}
	}
}

// Rarely sampled steps with a heavy loss, on which grids fail from below: the interval is narrow all the same.
func TestRareSteps(t *testing.T) {
	p := must.Get(pair.Poisson(pair.Gaussian, .5, 1e-6, 0, 1))
	for _, times := range []int{300, 30} {
		if testing.Short() && times == 30 {
			continue
		}
		v := must.Get(Accountant{}.Bound(context.Background(), []pair.Step{{Pair: p, Times: times}},
			pair.EpsilonAt(1e-9)))
		if !(v.Lower > 0 && v.Upper-v.Lower <= .02*v.Upper) {
			t.Errorf("%d steps: ε in %v", times, v)
		}
	}
}

// A context that is done ends the work.
func TestContext(t *testing.T) {
	p := must.Get(pair.Poisson(pair.Laplace, 5, .001, 0, 8))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	steps := []pair.Step{{Pair: p, Times: 1000}}
	if _, err := (Accountant{}).Bound(ctx, steps, pair.EpsilonAt(1e-9)); !errors.Is(err, context.Canceled) {
		t.Errorf("Epsilon: %v", err)
	}
	if _, err := (Accountant{}).Bound(ctx, steps, pair.DeltaAt(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("Delta: %v", err)
	}
	if _, err := (Accountant{}).Bound(ctx, steps, pair.Question{Delta: true, At: 1, Against: 1e-9}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("DeltaAgainst: %v", err)
	}
}

// A comparison says what the number says, on either side of it, and refuses limits that are no δ.
func TestDeltaAgainst(t *testing.T) {
	p := must.Get(pair.Poisson(pair.Laplace, 1, .05, 0, 2))
	steps := []pair.Step{{Pair: p, Times: 100}}
	sharp := must.Get(Accountant{}.Bound(context.Background(), steps, pair.DeltaAt(1)))
	for _, by := range []float64{.01, .9, .99, 1.01, 1.1, 100} {
		limit := min(1, sharp.Upper*by)
		v := must.Get(Accountant{}.Bound(t.Context(), steps, pair.Question{Delta: true, At: 1, Against: limit}))
		if v.Upper < sharp.Lower || v.Lower > sharp.Upper {
			t.Errorf("limit %v: δ in %v, sharply %v", limit, v, sharp)
		}
		if (by < 1) != (v.Lower > limit) || (by > 1) != (v.Upper <= limit) {
			t.Errorf("limit %v of %v: δ in %v", limit, sharp, v)
		}
	}
	eps := must.Get(Accountant{}.Bound(t.Context(), steps, pair.EpsilonAt(1e-6)))
	for _, floor := range []float64{1e-3, .1, 1} {
		v, err := Accountant{Width: 1e-9}.Bound(t.Context(), steps, pair.Question{At: 1e-6, Floor: floor})
		if err != nil || v.Upper < eps.Lower || v.Lower > eps.Upper || v.Upper-v.Lower > floor {
			t.Errorf("floor %v: ε in %v, %v, sharply %v", floor, v, err, eps)
		}
	}
	for _, limit := range []float64{-1, 2, math.NaN()} {
		if _, err := (Accountant{}).Bound(t.Context(), steps,
			pair.Question{Delta: true, At: 1, Against: limit}); !errors.Is(err, pair.ErrParameter) {
			t.Errorf("limit %v: %v", limit, err)
		}
	}
}
