package dp

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"coupling/dp/pair"
	"coupling/dp/pld"
	"coupling/dp/rdp"
)

// exhaustive is the largest answer of Best over all branches, none passed over.
func exhaustive(t *testing.T, e Event, r Relation, q pair.Question) pair.Interval {
	branches := must(Branches(e, r))
	var worst pair.Interval
	for _, b := range branches {
		v := must(Best{}.Bound(t.Context(), b.Steps, q))
		worst.Upper, worst.Lower = max(worst.Upper, v.Upper), max(worst.Lower, v.Lower)
	}
	return worst
}

// Passing over branches changes nothing: the answer encloses the largest over all of them, to the accountants' widths.
func TestPassedOverBranchesDoNotMatter(t *testing.T) {
	for i, c := range []struct {
		event Event
		group int
		eps   float64
	}{
		{SGD(1, .01, 1000), 5, 2}, {SGD(1, .001, 1000), 4, .5}, {SGD(1, .01, 20), 3, 1}, {SGD(5, .01, 1000), 6, .1},
		{SGD(5, .01, 100_000), 3, .5},
		{Repeat{200, Poisson{.02, Laplace{2}}}, 4, .3}, {Repeat{50, Poisson{.1, RandomizedResponse{.7}}}, 4, .5},
		{Poisson{.3, Gaussian{.6}}, 5, 0},
		// At ε = 0 both directions are total variation: branches tie.
		{SGD(2, .02, 500), 4, 0},
	} {
		if testing.Short() && (i == 2 || i == 5) { // by distributions
			continue
		}
		r := Relation{Group: c.group}
		want := exhaustive(t, c.event, r, pair.DeltaAt(c.eps))
		g := must(Delta(t.Context(), c.event, r, c.eps))
		checkSame(t, c.event, g.Lower, g.Delta, want)
		if c.eps == 0 || g.Delta >= 1 {
			continue
		}
		want = exhaustive(t, c.event, r, pair.EpsilonAt(g.Delta))
		e := must(Epsilon(t.Context(), c.event, r, g.Delta))
		checkSame(t, c.event, e.Lower, e.Epsilon, want)
	}
}

func checkSame(t *testing.T, e Event, lower, upper float64, want pair.Interval) {
	t.Helper()
	if upper < want.Lower || lower > want.Upper {
		t.Errorf("%v: [%v, %v], over all branches %v", e, lower, upper, want)
	}
	// An upper end may be below that of a branch passed over, by no more than the branch's own
	// width; nor is it above, but for δ just below 1, which is rounded up.
	if upper > want.Upper*(1+2e-9) {
		t.Errorf("%v: at most %v, over all branches %v", e, upper, want)
	}
}

// What is said to be below is; and what clearly is, is seen to be.
func TestBelow(t *testing.T) {
	rng, tries := rand.New(rand.NewPCG(3, 5)), 25
	if testing.Short() {
		tries = 8
	}
	for range tries {
		sigma, rate := math.Exp(2*rng.Float64()-.5), math.Exp(5*rng.Float64()-6)
		branches := must(Branches(SGD(sigma, rate, 1+rng.IntN(400)), Relation{Group: 3}))
		b, eps := branches[rng.IntN(4)], 3*rng.Float64()
		v, err := Best{Width: .01}.Bound(t.Context(), b.Steps, pair.DeltaAt(eps))
		if err != nil || v.Lower < 1e-30 || v.Upper > .7 {
			continue
		}
		for _, like := range []pair.Answer{{}, {By: "contour", Order: v.Order}, {By: "pld"},
			{Refused: []string{"contour"}}} {
			below := func(delta float64) bool {
				got, err := Best{}.Bound(t.Context(), b.Steps, pair.Question{
					Delta:   true,
					At:      eps,
					Against: delta,
					Like:    like,
				})
				return err == nil && got.Upper <= delta
			}
			if below(v.Lower * (1 - 1e-9)) {
				t.Errorf("σ = %v, rate %v: δ in %v is said to be below its lower end, asked by %v", sigma,
					rate, v, like)
			}
			if !below(v.Upper*1.3) && like.By != "contour" {
				t.Errorf("σ = %v, rate %v: δ in %v is not seen to be below %v, asked by %v", sigma, rate, v,
					v.Upper*1.3, like)
			}
		}
	}
}

// The accountant of one's choice is asked at every branch when it cannot compare.
func TestEveryBranchOfOthers(t *testing.T) {
	e, r := SGD(1, .02, 300), Relation{Group: 4}
	branches := must(Branches(e, r))
	want := 0.0
	for _, b := range branches {
		v := must(rdp.Accountant{}.Bound(context.Background(), b.Steps, pair.EpsilonAt(1e-6)))
		want = max(want, v.Upper)
	}
	if g, err := EpsilonBy(context.Background(), rdp.Accountant{}, e, r, 1e-6); err != nil || g.Epsilon != want {
		t.Errorf("ε = %v, %v; want %v", g.Epsilon, err, want)
	}
}

// Distributions asked for by name pass over branches too, and answer as for all of them.
func TestDistributionsPassOver(t *testing.T) {
	a := pld.Accountant{Width: .01}
	e, r := Repeat{300, Poisson{.01, Laplace{1}}}, Relation{Group: 5}
	branches := must(Branches(e, r))
	var eps, delta pair.Interval
	for _, b := range branches {
		v := must(a.Bound(context.Background(), b.Steps, pair.EpsilonAt(1e-6)))
		d := must(a.Bound(context.Background(), b.Steps, pair.DeltaAt(1)))
		eps = pair.Interval{Lower: max(eps.Lower, v.Lower), Upper: max(eps.Upper, v.Upper)}
		delta = pair.Interval{Lower: max(delta.Lower, d.Lower), Upper: max(delta.Upper, d.Upper)}
	}
	if g, err := EpsilonBy(context.Background(), a, e, r, 1e-6); err != nil || g.Epsilon < eps.Lower ||
		g.Epsilon > eps.Upper || g.Accountant != "pld" {
		t.Errorf("%v, %v; over all branches ε in %v", g, err, eps)
	}
	if g, err := DeltaBy(context.Background(), a, e, r, 1); err != nil || g.Delta < delta.Lower ||
		g.Delta > delta.Upper {
		t.Errorf("%v, %v; over all branches δ in %v", g, err, delta)
	}
}

// Widths that suffice are kept, and the number stays on the safe side.
func TestWidth(t *testing.T) {
	for i, e := range []Event{SGD(1, .01, 1000), SGD(1, .005, 20), Repeat{100, Poisson{.02, Laplace{1}}}} {
		if testing.Short() && i == 1 {
			continue
		}
		sharp := must(Delta(t.Context(), e, Relation{Group: 2}, 1))
		for _, w := range []float64{.1, .01} {
			g := must(DeltaBy(context.Background(), Best{Width: w}, e, Relation{Group: 2}, 1))
			if g.Delta < sharp.Lower || g.Lower > sharp.Delta || g.Delta-g.Lower > 2*w*g.Delta {
				t.Errorf("%v, width %v: δ in [%v, %v], sharply [%v, %v]", e, w, g.Lower, g.Delta, sharp.Lower,
					sharp.Delta)
			}
		}
	}
	if _, err := DeltaBy(context.Background(), Best{Width: -1}, SGD(1, .1, 10), Relation{}, 1); !errors.Is(err,
		ErrParameter) {
		t.Errorf("width −1: %v", err)
	}
}

// A context that is done ends the work.
func TestContext(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	slow := SGD(1, 1e-4, 100_000) // some seconds
	for _, a := range []Accountant{Best{}, Best{Width: .1}} {
		if _, err := EpsilonBy(done, a, slow, Relation{Group: 16}, 1e-50); !errors.Is(err, context.Canceled) {
			t.Errorf("Epsilon by %v: %v", a, err)
		}
		if _, err := DeltaBy(done, a, slow, Relation{Group: 16}, 2); !errors.Is(err, context.Canceled) {
			t.Errorf("Delta by %v: %v", a, err)
		}
	}
}

// Accounting and calibration that take long end when they are cancelled, as by Ctrl-C.
func TestCancelled(t *testing.T) {
	slow := func(noise float64) Event { return SGD(noise, 1e-4, 100_000) }
	r := Relation{Group: 16}
	for name, ask := range map[string]func(ctx context.Context) error{
		"Epsilon": func(ctx context.Context) error { _, err := EpsilonBy(ctx, Best{}, slow(1), r, 1e-18); return err },
		"by grids": func(ctx context.Context) error {
			_, err := EpsilonBy(ctx, pld.Accountant{}, slow(1), r, 1e-18)
			return err
		},
		"MinNoise": func(ctx context.Context) error {
			_, _, err := MinNoise(ctx, Budget{Epsilon: 9, Delta: 1e-18, Relation: r}, slow)
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(60*time.Millisecond, cancel)
		start := processorTime()
		if err := ask(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if took := processorTime() - start; took > 20*time.Second { // one transform
			t.Errorf("%s: stopped after %v", name, took)
		}
	}
}

// Groups whose spans become single splits before a pass in which none was skipped; it once did not end.
func TestGroupsOfAFewSpans(t *testing.T) {
	for _, group := range []int{40, 64, 100} {
		e := SGD(20, .001, 1000)
		g := must(Epsilon(t.Context(), e, Relation{Group: group}, 1e-5))
		want := must(Epsilon(t.Context(), e, Relation{Group: group, Kind: Removal}, 1e-5)) // the worst split, as seen
		if g.Kind != Exact || math.Abs(g.Epsilon/want.Epsilon-1) > 1e-9 {
			t.Errorf("groups of %d: %v, of which removed %v", group, g, want)
		}
	}
}

// A calibration for large groups asks two splits until it is near, and all in the end: the answer is a guarantee.
func TestMinNoiseOfAGroup(t *testing.T) {
	b := Budget{Epsilon: 1, Delta: 1e-5, Relation: Relation{Group: 300}}
	event := func(s float64) Event { return SGD(s, .001, 1000) }
	noise, g, err := MinNoise(t.Context(), b, event)
	if err != nil || g.Epsilon > 1 || g.Epsilon < 1-1e-3 {
		t.Fatal(noise, g, err)
	}
	if own := must(Epsilon(t.Context(), event(noise), b.Relation, 1e-5)); own.Epsilon > 1 || own.Removed != g.Removed {
		t.Errorf("noise %v: %v, by itself %v", noise, g, own)
	}
}
