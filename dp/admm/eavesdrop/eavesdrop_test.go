package eavesdrop_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/dp/admm"
	"coupling/dp/admm/account"
	"coupling/dp/admm/eavesdrop"
	"coupling/lab/must"
)

// clinic is a problem whose sums stay below their bounds at first, so that the first messages say everything.
func clinic(rng *rand.Rand, targets, sources int) admm.Problem {
	p := admm.Problem{Graph: admm.Complete(targets, sources)}
	for range p.Graph.Edges {
		p.TargetUtility = append(p.TargetUtility, admm.Linear{A: float64(1 + rng.IntN(5))})
		p.SourceUtility = append(p.SourceUtility, admm.Linear{A: float64(1 + rng.IntN(5))})
	}
	for range targets {
		p.TargetBounds = append(p.TargetBounds, admm.Bounds{Max: 10 * float64(sources)})
	}
	for range sources {
		p.SourceBounds = append(p.SourceBounds, admm.Bounds{Max: 10 * float64(targets)})
	}
	return p
}

// rmse of an attack on a run.
func rmse(t *testing.T, p admm.Problem, alpha float64, known bool) float64 {
	t.Helper()
	a := admm.ADMM{Rounds: 40}
	r := eavesdrop.Record{Problem: admm.Problem{Graph: p.Graph, TargetBounds: p.TargetBounds,
		SourceBounds: p.SourceBounds}}
	a.Trace = r.Listen
	var err error
	if alpha == 0 {
		_, err = a.Solve(t.Context(), p)
	} else {
		_, err = a.SolvePrivate(t.Context(), p, admm.Private{Budget: account.Budget{Alpha: alpha}, Slope: 5},
			rand.New(rand.NewPCG(1, 2)))
	}
	if err != nil {
		t.Fatal(err)
	}
	zeta := 0.0
	if known {
		zeta = alpha / 5
	}
	target, source := must.Get2(eavesdrop.Attack{Lo: 1, Hi: 5, Zeta: zeta}.All(r.First(40)))
	sum := 0.0
	for e := range target {
		dt, ds := target[e]-p.TargetUtility[e].Slope(0), source[e]-p.SourceUtility[e].Slope(0)
		sum += dt*dt + ds*ds
	}
	return math.Sqrt(sum / float64(2*len(target)))
}

// Without noise everything is found; with noise the error grows, and at small ε the attack is no
// better than guessing the middle.
func TestWhatNoiseBuys(t *testing.T) {
	p := clinic(rand.New(rand.NewPCG(3, 4)), 6, 4)
	if e := rmse(t, p, 0, false); e > 1e-6 {
		t.Errorf("without noise the error is %g, want 0", e)
	}
	guess := math.Sqrt2 // the standard deviation of uniform integers 1..5
	small, middle, large := rmse(t, p, 1, true), rmse(t, p, 30, true), rmse(t, p, 1000, true)
	if !(large < 0.05 && large < middle && middle < small && small > 0.7*guess && small < 1.05*guess) {
		t.Errorf("errors %.3g, %.3g, %.3g at ε = 1000, 30, 1 a round: must rise towards %.3g", large, middle,
			small, guess)
	}
}

// Knowing the noise helps, on average over markets.
func TestKnownNoiseIsBetter(t *testing.T) {
	plain, known := 0.0, 0.0
	for seed := range uint64(50) { // the mean difference is some six times its standard error
		p := clinic(rand.New(rand.NewPCG(seed, 6)), 6, 4)
		plain, known = plain+rmse(t, p, 200, false)/50, known+rmse(t, p, 200, true)/50
	}
	if known > plain {
		t.Errorf("knowing the noise %.3g, least squares %.3g", known, plain)
	}
}

func TestErrors(t *testing.T) {
	r := &eavesdrop.Record{Problem: clinic(rand.New(rand.NewPCG(1, 1)), 2, 2)}
	for _, a := range []eavesdrop.Attack{{}, {Lo: 1, Hi: 5}, {Lo: 2, Hi: 1}} {
		if _, err := a.Node(r, admm.ID{}); err == nil {
			t.Errorf("%+v: no error", a)
		}
	}
}

func ExampleAttack() {
	p := admm.Problem{
		Graph:         admm.Complete(1, 2),
		TargetUtility: []admm.Utility{admm.Linear{A: 2}, admm.Linear{A: 4.5}},
		TargetBounds:  []admm.Bounds{{Max: 10}},
		SourceBounds:  []admm.Bounds{{Max: 3}, {Max: 3}},
	}
	record := eavesdrop.Record{Problem: p}
	if _, err := (admm.ADMM{Trace: record.Listen}).Solve(context.Background(), p); err != nil {
		fmt.Println(err)
	}
	found, err := eavesdrop.Attack{Lo: 0, Hi: 5}.Node(&record, admm.ID{Side: admm.Target, Index: 0})
	fmt.Printf("%.3f %v\n", found, err)
	// Output: [2.000 4.500] <nil>
}
