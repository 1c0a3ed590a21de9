package admm_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"coupling/dp/admm"
	"coupling/dp/admm/admmtest"
	"coupling/dp/admm/central"
)

// Over 100 random networks of every kind, with and without over-relaxation and adaptive η, the distributed optimum is the central one to 1e-6.
func TestOptimum(t *testing.T) {
	kinds := admmtest.Kinds()
	rules := []admm.ADMM{{}, {Relax: 1.6}, {Adapt: true}, {Eta: 0.3, Relax: 1.3, Adapt: true}}
	for i := range 4 * len(kinds) {
		kind, a := kinds[i%len(kinds)], rules[i/len(kinds)]
		p := admmtest.Problem(rand.New(rand.NewPCG(uint64(i), 8)), kind)
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
			t.Errorf("%d, %v, %+v: utility %.9f, optimum %.9f, %v after %d rounds", i, kind, a, u, want.Value, got.Status, got.Rounds)
		}
	}
}
