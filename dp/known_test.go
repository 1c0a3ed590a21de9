package dp

import (
	"errors"
	"math"
	"testing"
)

// An (ε, δ)-differentially private mechanism is that: at δ itself ε is known, and at a δ below it is not.
func TestApproximateAtItsOwnDelta(t *testing.T) {
	for _, e := range []Approximate{{1, 1e-6}, {0, 1e-6}, {.1, 1e-12}, {30, 1. / 3}, {1e-9, .9}, {700, 1e-300}} {
		for _, r := range []Relation{{}, {Kind: Removal}, {Kind: Insertion}} {
			g, err := Epsilon(e, r, e.Delta)
			if err != nil || g.Epsilon < e.Epsilon || g.Epsilon > e.Epsilon*(1+1e-12)+1e-12 {
				t.Errorf("%v under %v: %v, %v", e, r, g, err)
			}
			if g, err := Epsilon(e, r, e.Delta*(1-4e-16)); !errors.Is(err, ErrUnbounded) && e.Epsilon > 0 {
				t.Errorf("%v below its δ: %v, %v", e, g, err)
			}
		}
		if g, err := Epsilon(e, Relation{Kind: Substitution}, e.Delta); !errors.Is(err, ErrUnbounded) {
			t.Errorf("%v, substitution at the δ of one record: %v, %v", e, g, err)
		}
	}
}

// Removing n records of a Poisson sample from noise whose loss is at most 1 a record costs n·log(1 + r(e−1)) at δ = 0, also
// where most weights of the binomial underflow.
func TestLargestLossOfALargeGroup(t *testing.T) {
	for _, e := range []Event{Laplace{1}, DiscreteLaplace{Scale: 1}, Pure{1}} {
		for _, n := range []int{4000, 5000, 100_000} {
			want := float64(n) * math.Log1p(.001*(math.E-1))
			g, err := Epsilon(Poisson{.001, e}, Relation{Kind: Removal, Group: n}, 0)
			if err != nil || g.Lower > want*(1+2e-12) || g.Epsilon < want*(1-1e-13) || g.Epsilon > want*(1+1e-9) {
				t.Errorf("%v, group of %d: [%v, %v], want %v: %v", e, n, g.Lower, g.Epsilon, want, err)
			}
		}
	}
}
