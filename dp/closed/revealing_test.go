package closed_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"coupling/dp"
	"coupling/dp/closed"
	"coupling/dp/pair"
	"coupling/dp/pld"
)

// A bit that is told truthfully, from a sample: one record's removal shows with probability 1 − (1−r)^T and is hidden otherwise, its
// insertion has δ(ε) = 1 − e^ε (1−r)^T.
func TestTruthfulBitSampled(t *testing.T) {
	const rate, times = 0.001, 10
	e := dp.Repeat{Times: times, Event: dp.Poisson{Rate: rate, Event: dp.RandomizedResponse{Truth: 1}}}
	shown := -math.Expm1(times * math.Log1p(-rate)) // .00996
	g, err := dp.Epsilon(e, dp.Relation{Group: 1}, 0.05)
	if err != nil || g.Epsilon != 0 {
		t.Errorf("ε(0.05) = %v, %v; want 0: all is in δ = %v", g.Epsilon, err, shown)
	}
	for _, eps := range []float64{0, 0.004, 0.02, 5} {
		g, err := dp.Delta(e, dp.Relation{Group: 1}, eps)
		if err != nil {
			t.Fatal(err)
		}
		if !(g.Lower <= shown*(1+1e-15) && shown*(1-1e-15) <= g.Delta && g.Delta <= shown*(1+1e-11)) {
			t.Errorf("δ(%v) in [%v, %v], want %v", eps, g.Lower, g.Delta, shown)
		}
	}
	if _, err := dp.Epsilon(e, dp.Relation{Group: 1}, 0.9*shown); !errors.Is(err, dp.ErrUnbounded) {
		t.Errorf("ε below the mass that is shown: %v, want ErrUnbounded", err)
	}
}

// Steps of different rates, against the sum over all outcomes.
func TestTruthfulBitsOfSeveralRates(t *testing.T) {
	rates := []float64{0.5, 0.1, 0.02}
	var steps dp.Compose
	for _, r := range rates {
		steps = append(steps, dp.Poisson{Rate: r, Event: dp.RandomizedResponse{Truth: 1}})
	}
	branches, err := dp.Branches(steps, dp.Relation{Group: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range branches {
		for _, eps := range []float64{0, 0.3, 0.7, 1} {
			want := 0.0
			for outcome := range 1 << len(rates) { // bit i: the record shows in step i
				with, without := 1.0, 1.0
				for i, r := range rates {
					if outcome>>i&1 == 1 {
						with, without = with*r, 0
					} else {
						with *= 1 - r
					}
				}
				p, q := with, without
				if b.Removed == 0 {
					p, q = without, with
				}
				want += max(0, p-math.Exp(eps)*q)
			}
			v, err := closed.Accountant{}.Bound(context.Background(), b.Steps, pair.DeltaAt(eps))
			if err != nil {
				t.Fatal(err)
			}
			if !(v.Lower <= want+1e-15 && want-1e-15 <= v.Upper && v.Upper-v.Lower <= 1e-11) {
				t.Errorf("removed %d: δ(%v) in [%v, %v], want %v", b.Removed, eps, v.Lower, v.Upper, want)
			}
		}
	}
}

// Randomised response on batches of fixed size, under substitution, is such a walk; distributions on a grid agree.
func TestWalkOfSubstitution(t *testing.T) {
	for _, times := range []int{2, 77, 3000} {
		for _, event := range []dp.Event{
			dp.WithoutReplacement{Batch: 10, Size: 1000, Event: dp.RandomizedResponse{Truth: 0.75}},
			dp.WithReplacement{Batch: 40, Size: 300, Event: dp.RandomizedResponse{Truth: 0.95}},
		} {
			t.Run(fmt.Sprint(times, event), func(t *testing.T) {
				r := dp.Relation{Kind: dp.Substitution, Group: 3}
				g, err := dp.Epsilon(dp.Repeat{Times: times, Event: event}, r, 1e-7)
				if err != nil || g.Accountant != "closed form" || g.Kind != dp.Exact {
					t.Fatalf("%v, %v: want an exact profile", g, err)
				}
				p, err := dp.EpsilonBy(t.Context(), pld.Accountant{Bins: 1 << 14}, dp.Repeat{Times: times, Event: event}, r, 1e-7)
				if err != nil || p.Epsilon < g.Lower || p.Lower > g.Epsilon || p.Epsilon > g.Epsilon*1.01 {
					t.Errorf("ε in [%v, %v], on a grid [%v, %v], %v", g.Lower, g.Epsilon, p.Lower, p.Epsilon, err)
				}
				d, err := dp.Delta(dp.Repeat{Times: times, Event: event}, r, g.Epsilon)
				if err != nil || math.Abs(d.Delta/1e-7-1) > 1e-6 {
					t.Errorf("δ(%v) = %v, %v: want 1e-7", g.Epsilon, d.Delta, err)
				}
			})
		}
	}
}
