package dp

import (
	"context"
	"errors"
	"math"
	"testing"

	"coupling/dp/best"
	"coupling/dp/closed"
	"coupling/dp/pair"
	"coupling/dp/pld"
	"coupling/dp/rdp"
)

// An (ε, δ)-differentially private mechanism is that: at δ itself ε is known, and at a δ below it is not.
func TestApproximateAtItsOwnDelta(t *testing.T) {
	for _, e := range []Approximate{{1, 1e-6}, {0, 1e-6}, {.1, 1e-12}, {30, 1. / 3}, {1e-9, .9}, {700, 1e-300}} {
		for _, r := range []Relation{{}, {Kind: Removal}, {Kind: Insertion}} {
			g, err := Epsilon(t.Context(), e, r, e.Delta)
			if err != nil || g.Epsilon < e.Epsilon || g.Epsilon > e.Epsilon*(1+1e-12)+1e-12 {
				t.Errorf("%v under %v: %v, %v", e, r, g, err)
			}
			if g, err := Epsilon(t.Context(), e, r, e.Delta*(1-4e-16)); !errors.Is(err, ErrUnbounded) && e.Epsilon > 0 {
				t.Errorf("%v below its δ: %v, %v", e, g, err)
			}
		}
		if g, err := Epsilon(t.Context(), e, Relation{Kind: Substitution}, e.Delta); !errors.Is(err, ErrUnbounded) {
			t.Errorf("%v, substitution at the δ of one record: %v, %v", e, g, err)
		}
	}
}

// Removing n records of a Poisson sample from noise whose loss is at most 1 a record costs n·log(1
// + r(e−1)) at δ = 0, also where most weights of the binomial underflow.
func TestLargestLossOfALargeGroup(t *testing.T) {
	for _, e := range []Event{Laplace{1}, DiscreteLaplace{Scale: 1}, Pure{1}} {
		for _, n := range []int{4000, 5000, 100_000} {
			want := float64(n) * math.Log1p(.001*(math.E-1))
			g, err := Epsilon(t.Context(), Poisson{.001, e}, Relation{Kind: Removal, Group: n}, 0)
			if err != nil || g.Lower > want*(1+2e-12) || g.Epsilon < want*(1-1e-13) || g.Epsilon > want*(1+1e-9) {
				t.Errorf("%v, group of %d: [%v, %v], want %v: %v", e, n, g.Lower, g.Epsilon, want, err)
			}
		}
	}
}

// Loops over settings meet the ends of their ranges: nothing read costs nothing, and what is released without noise is
// told apart once it is read.
func TestEndsOfTheRange(t *testing.T) {
	free := []Event{
		SGD(1, 0, 100), SGD(1, .1, 0), SGD(0, 0, 5), FixedSGD(1, 5, 50, 0), Repeat{0, ZCDP{1}}, Poisson{0, Laplace{0}},
		Compose{Poisson{0, Gaussian{1}}, Repeat{0, DiscreteLaplace{Scale: 1}}}, RandomizedResponse{.5},
		Repeat{7, RandomizedResponse{.5}},
	}
	for _, e := range free {
		for _, by := range []Accountant{Best{}, closed.Accountant{}, pld.Accountant{}, rdp.Accountant{}} {
			for _, delta := range []float64{1e-5, 1} {
				if g, err := EpsilonBy(t.Context(), by, e, Relation{Group: 2}, delta); err != nil || g.Epsilon != 0 ||
					g.Kind != Exact {
					t.Errorf("%v by %s at δ = %v: %v, %v", e, by.Name(), delta, g, err)
				}
			}
			if g, err := DeltaBy(t.Context(), by, e, Relation{}, 1); err != nil || g.Delta != 0 {
				t.Errorf("%v by %s: δ = %v, %v", e, by.Name(), g.Delta, err)
			}
		}
		if g, err := Epsilon(t.Context(), Compose{e, Gaussian{3}}, Relation{}, 1e-5); err != nil ||
			g.Epsilon != must(Epsilon(t.Context(), Gaussian{3}, Relation{}, 1e-5)).Epsilon {
			t.Errorf("%v and one more: %v, %v", e, g, err)
		}
	}
	for _, m := range []Event{Gaussian{0}, Laplace{0}, DiscreteLaplace{}, DiscreteGaussian{}} {
		if g, err := Epsilon(t.Context(), Repeat{9, Poisson{.1, m}}, Relation{}, .6); !errors.Is(err, ErrUnbounded) {
			t.Errorf("%v: %v, %v", m, g, err)
		}
		want := 1 - math.Pow(.9, 9) // that the record was ever in a batch
		g, err := Delta(t.Context(), Repeat{9, Poisson{.1, m}}, Relation{}, 2)
		if err != nil || math.Abs(g.Delta-want) > 1e-12 || g.Delta < g.Lower {
			t.Errorf("%v: %v, %v; want δ = %v", m, g, err, want)
		}
		if g, err := Epsilon(t.Context(), m, Relation{}, 1); err != nil || g.Epsilon != 0 {
			t.Errorf("%v at δ = 1: %v, %v", m, g, err)
		}
	}
}

// Noise so small that squares of shifts have no digits: half of the losses are above the mean, as ε must be.
func TestNoiseWithoutDigits(t *testing.T) {
	for sigma := 1e-7; sigma > 1e-100; sigma /= 3 {
		e, mean := Repeat{3, Gaussian{sigma}}, 1.5/sigma/sigma
		g, err := Epsilon(t.Context(), e, Relation{}, .4)
		if err != nil || g.Epsilon < mean*(1-1e-15) || g.Epsilon > mean*(1+1e-6) {
			t.Fatalf("%v: %v, %v; the mean is %v", e, g, err, mean)
		}
		if g, err := Delta(t.Context(), e, Relation{}, 1); err != nil || g.Delta < 1 {
			t.Errorf("%v: %v, %v", e, g, err)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// δ at ε < 0: a Gaussian's by its closed form, that of one sampled step by its pair's own profile
// in either direction, and that of repeated randomised response by enumeration; by every
// accountant, on the safe side.
func TestDeltaBelowZero(t *testing.T) {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	sampled := must(pair.Poisson(pair.Gaussian, .8, .2, 0, 1))
	ways := []Accountant{Best{}, pld.Accountant{}, rdp.Accountant{},
		best.FirstOf{closed.Accountant{}, pld.Accountant{}}}
	for _, eps := range []float64{-1e-9, -.1, -.7, -2, -40} {
		response := 0.0 // three answers, true with probability ¾
		for k, n := range []float64{1, 3, 3, 1} {
			response += n * max(0, math.Pow(.75, float64(k))*math.Pow(.25, float64(3-k))-math.Exp(eps)*math.Pow(.25,
				float64(k))*math.Pow(.75, float64(3-k)))
		}
		insertion, removal := pair.Delta(sampled.Swap(), eps), pair.Delta(sampled, eps)
		for _, c := range []struct {
			event Event
			kind  RelationKind
			want  float64
		}{
			{Repeat{4, Gaussian{2}}, AddRemove, phi(.5-eps) - math.Exp(eps)*phi(-.5-eps)},
			{Poisson{.2, Gaussian{.8}}, Insertion, insertion},
			{Poisson{.2, Gaussian{.8}}, Removal, removal},
			{Poisson{.2, Gaussian{.8}}, AddRemove, max(insertion, removal)},
			{Repeat{3, RandomizedResponse{.75}}, AddRemove, response},
		} {
			for _, by := range ways {
				g, err := DeltaBy(context.Background(), by, c.event, Relation{Kind: c.kind}, eps)
				if err != nil || g.Delta < c.want*(1-1e-12) || g.Lower > c.want*(1+1e-12) ||
					by == ways[0] && g.Delta > c.want*(1+1e-6) {
					t.Errorf("%v, %v, at ε = %v by %s: [%v, %v], want %v: %v", c.event, c.kind, eps, by.Name(), g.Lower,
						g.Delta, c.want, err)
				}
				if g.Epsilon != eps || g.Relation.Kind != c.kind {
					t.Errorf("asked at %v under %v: %v", eps, c.kind, g)
				}
			}
		}
	}
	if got := FormatUp(-1.23456, 3); got != "-1.23" {
		t.Errorf("rounded upwards: %s", got)
	}
}
