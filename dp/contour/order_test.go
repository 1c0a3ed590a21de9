package contour

import (
	"context"
	"errors"
	"testing"

	"coupling/dp/pair"
	"coupling/lab/must"
)

// Where the search for the saddle point begins changes the contour a little, not what is certified:
// the enclosures overlap.
func TestOrderOnlySavesTime(t *testing.T) {
	for _, k := range []int{1, 6} {
		p := must.Get(pair.Poisson(pair.Gaussian, 1.5, .01, 0, k))
		steps := []pair.Step{{Pair: p, Times: 3000}}
		for _, eps := range []float64{.2, 1} {
			want := must.Get(Accountant{}.Bound(context.Background(), steps, pair.DeltaAt(eps)))
			s := want.Order
			if !(s > 0) {
				t.Fatalf("saddle point at %v", s)
			}
			for _, q := range []pair.Question{{Like: pair.Answer{Order: s}}, {Like: pair.Answer{Order: s / 50}},
				{Like: pair.Answer{Order: 50 * s}},
				{Like: pair.Answer{Order: s}, Width: 8e-2}, {Width: 8e-2}, {Against: want.Upper * 1.1},
				{Against: want.Lower * .9, Like: pair.Answer{Order: s}}} {
				q.Delta, q.At = true, eps
				got, err := Accountant{}.Bound(t.Context(), steps, q)
				if err != nil {
					t.Errorf("%+v: %v", q, err)
					continue
				}
				if got.Lower > want.Upper || got.Upper < want.Lower {
					t.Errorf("%+v: δ in %v, otherwise %v", q, got, want)
				}
				if room := max(1e-9, 2*q.Width); q.Against == 0 && got.Upper-got.Lower > room*got.Upper {
					t.Errorf("%+v: δ in %v", q, got)
				}
				if q.Against > 0 && (q.Against > want.Upper) != (got.Upper <= q.Against) {
					t.Errorf("%+v: δ in %v, otherwise %v", q, got, want)
				}
			}
		}
	}
}

// What the work does not suffice for is refused, and a context that is done ends the work.
func TestRefusesAndEnds(t *testing.T) {
	p := must.Get(pair.Poisson(pair.Gaussian, 1, .001, 0, 1))
	if v, err := (Accountant{}).Bound(context.Background(), []pair.Step{{Pair: p, Times: 2}},
		pair.DeltaAt(.1)); !errors.Is(err, ErrDecay) && !errors.Is(err, ErrCost) {
		t.Errorf("two steps: %v, %v", v, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	steps := []pair.Step{{Pair: p, Times: 100_000}}
	if _, err := (Accountant{}).Bound(ctx, steps, pair.DeltaAt(.1)); !errors.Is(err, context.Canceled) {
		t.Errorf("Delta: %v", err)
	}
	if _, err := (Accountant{}).Bound(ctx, steps, pair.EpsilonAt(1e-6)); !errors.Is(err, context.Canceled) {
		t.Errorf("Epsilon: %v", err)
	}
}
