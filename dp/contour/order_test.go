package contour

import (
	"context"
	"errors"
	"math"
	"testing"

	"coupling/dp/pair"
)

// Where the search for the saddle point begins changes the contour a little, not what is certified: the enclosures overlap.
func TestOrderOnlySavesTime(t *testing.T) {
	for _, k := range []int{1, 6} {
		p, err := pair.Poisson(pair.Gaussian, 1.5, .01, 0, k)
		if err != nil {
			t.Fatal(err)
		}
		steps := []pair.Step{{Pair: p, Times: 3000}}
		for _, eps := range []float64{.2, 1} {
			want, err := Accountant{}.Delta(steps, eps)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Accountant{}.Saddle(steps, eps)
			if err != nil || !(s > 0) {
				t.Fatalf("saddle point at %v, %v", s, err)
			}
			for _, a := range []Accountant{{Order: s}, {Order: s / 50}, {Order: 50 * s}, {Order: s, Tol: 1e-2}, {Tol: 1e-2}} {
				got, err := a.Delta(steps, eps)
				if err != nil {
					t.Errorf("%+v: %v", a, err)
					continue
				}
				if got.Lower > want.Upper || got.Upper < want.Lower {
					t.Errorf("%+v: δ in %v, otherwise %v", a, got, want)
				}
				if room := max(1e-9, 10*a.Tol); got.Upper-got.Lower > room*got.Upper {
					t.Errorf("%+v: δ in %v", a, got)
				}
			}
		}
		if _, err := (Accountant{Order: -1}).Delta(steps, 1); !errors.Is(err, ErrInvalid) {
			t.Errorf("order −1: %v", err)
		}
		if _, err := (Accountant{}).Saddle(steps, math.NaN()); !errors.Is(err, ErrInvalid) {
			t.Errorf("saddle point of ε = NaN: %v", err)
		}
	}
}

// What the work does not suffice for is refused, and a context that is done ends the work.
func TestRefusesAndEnds(t *testing.T) {
	p, err := pair.Poisson(pair.Gaussian, 1, .001, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := (Accountant{}).Delta([]pair.Step{{Pair: p, Times: 2}}, .1); !errors.Is(err, ErrDecay) && !errors.Is(err, ErrCost) {
		t.Errorf("two steps: %v, %v", v, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	steps := []pair.Step{{Pair: p, Times: 100_000}}
	if _, err := (Accountant{}).DeltaContext(ctx, steps, .1); !errors.Is(err, context.Canceled) {
		t.Errorf("Delta: %v", err)
	}
	if _, err := (Accountant{}).EpsilonContext(ctx, steps, 1e-6); !errors.Is(err, context.Canceled) {
		t.Errorf("Epsilon: %v", err)
	}
}
