package admm_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/dp/admm"
	"coupling/dp/admm/central"
	"coupling/lab/must"
)

// Over 100 random networks of every kind, with and without over-relaxation and adaptive η, the
// distributed optimum is the central one to 1e-6.
func TestOptimum(t *testing.T) {
	kinds := kinds()
	rules := []admm.ADMM{{}, {Relax: 1.6}, {Adapt: true}, {Eta: 0.3, Relax: 1.3, Adapt: true}}
	stride := 1
	if testing.Short() {
		stride = 5
	}
	for i := 0; i < 4*len(kinds); i += stride {
		kind, a := kinds[i%len(kinds)], rules[i/len(kinds)]
		p := draw(rand.New(rand.NewPCG(uint64(i), 8)), kind)
		want, err := central.Solve(t.Context(), p)
		if err != nil {
			t.Fatalf("%d, %v: %v", i, kind, err)
		}
		got, err := a.Solve(t.Context(), p)
		if err != nil {
			t.Fatalf("%d, %v: %v", i, kind, err)
		}
		plan := p.Repair(got.Plan)
		if v := p.Violation(plan); v > 1e-12 {
			t.Errorf("%d, %v: the repaired plan misses a bound by %g", i, kind, v)
		}
		if v := p.Violation(got.Plan); v > 1e-6 {
			t.Errorf("%d, %v: the plan misses a bound by %g", i, kind, v)
		}
		u := p.Utility(plan)
		if got.Status != admm.Converged || math.Abs(u-want.Value) > 1e-6*math.Abs(want.Value) {
			t.Errorf("%d, %v, %+v: utility %.9f, optimum %.9f, %v after %d rounds", i, kind, a, u, want.Value,
				got.Status, got.Rounds)
		}
	}
}

// A node without edges takes part, and does not hold the others up.
func TestNodeWithoutEdges(t *testing.T) {
	g := must.Get(admm.Edges(2, 2, []admm.Edge{{Target: 1, Source: 0}}))
	p := admm.Problem{Graph: g, TargetUtility: []admm.Utility{admm.Linear{A: 1}},
		SourceBounds: []admm.Bounds{{Max: 2}, {Max: 2}}}
	r, err := admm.ADMM{}.Solve(t.Context(), p)
	if err != nil || math.Abs(r.Plan[0]-2) > 1e-6 {
		t.Errorf("%v, %v", r, err)
	}
	p.TargetBounds = []admm.Bounds{{Min: 1, Max: 2}, {Max: 2}}
	if err := p.Check(); err == nil {
		t.Error("target 0 has no source and must receive: no error")
	}
}

// The number of workers changes no bit, on a network of several spans.
func TestWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	p := admm.Problem{Graph: admm.Complete(400, 40), SourceBounds: make([]admm.Bounds, 40),
		TargetBounds: make([]admm.Bounds, 400)}
	for range p.Graph.Edges {
		p.TargetUtility = append(p.TargetUtility, admm.Linear{A: 5 * rng.Float64()})
	}
	for i := range p.TargetBounds {
		p.TargetBounds[i].Max = 1 + rng.Float64()
	}
	for i := range p.SourceBounds {
		p.SourceBounds[i].Max = 10 + 5*rng.Float64()
	}
	one := must.Get(admm.ADMM{Workers: 1, MaxRounds: 30}.Solve(t.Context(), p))
	many := must.Get(admm.ADMM{Workers: 7, MaxRounds: 30}.Solve(t.Context(), p))
	for e := range one.Plan {
		if one.Plan[e] != many.Plan[e] {
			t.Fatalf("edge %d: %v and %v", e, one.Plan[e], many.Plan[e])
		}
	}
}

// What float64 cannot hold is an error and no plan of NaN; a network without edges rests at once.
func TestOverflowAndNothing(t *testing.T) {
	huge := []admm.Utility{admm.Linear{A: 1e308}}
	p := admm.Problem{
		Graph:         admm.Complete(1, 1),
		TargetUtility: huge,
		SourceUtility: huge,
		SourceBounds:  []admm.Bounds{{Max: 1}},
	}
	if r, err := (admm.ADMM{}).Solve(t.Context(), p); !errors.Is(err, admm.ErrParameter) {
		t.Errorf("utilities of 1e308: %+v, %v", r, err)
	}
	r, err := admm.ADMM{}.Solve(t.Context(), admm.Problem{Graph: admm.Graph{Targets: 2, Sources: 1}})
	if err != nil || r.Rounds != 1 || r.Status != admm.Converged || r.Primal != 0 || r.Dual != 0 {
		t.Errorf("no edges: %+v, %v", r, err)
	}
}

// Rules have one digest as they are written and as they are filled, and another where anything
// differs that nodes must agree on.
func TestDigest(t *testing.T) {
	base := admm.ADMM{Rounds: 10}
	if base.Digest() != base.Filled().Digest() || base.Digest() != (admm.ADMM{Rounds: 10, Workers: 3}).Digest() {
		t.Error("the same rules have several digests")
	}
	seen := map[string]bool{base.Digest(): true}
	others := []admm.ADMM{
		{Rounds: 11}, {Rounds: 10, Tail: 6}, {Rounds: 10, Eta: 2}, {Rounds: 10, Relax: 1.5}, {Rounds: 10, Tol: 1e-7},
		{Rounds: 10, MaxRounds: 9}, {Rounds: 10, Adapt: true},
	}
	for _, a := range others {
		seen[a.Digest()] = true
	}
	if len(seen) != len(others)+1 {
		t.Errorf("%d digests of %d rules", len(seen), len(others)+1)
	}
}
