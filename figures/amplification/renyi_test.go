package amplification

import (
	"math"
	"testing"

	"coupling/dp"
	"coupling/dp/rdp"
	"coupling/figures/figtest"
	"coupling/lab/must"
)

// Every record in every batch: ρ(α) = α K²/2σ² for the Gaussian mechanism, by the tight and by the agnostic bound.
func TestRenyiWithoutSampling(t *testing.T) {
	s := figtest.Store(t)
	for _, k := range rdpGroups {
		for _, bound := range []string{"specific", "agnostic"} {
			got := do(t, s, renyiOf, RenyiParams{
				Setting: Mechanism{"gaussian", 2, 1},
				Group:   k,
				Bound:   bound,
				From:    .5,
				To:      30,
				N:       6,
			})
			for i, alpha := range got.Order {
				want := alpha * float64(k*k) / 8
				if !(math.Abs(got.Rho[i]/want-1) <= 1e-10) { // quadrature adds its error bound
					t.Errorf("K = %d, %s: ρ(%v) = %v, want %v", k, bound, alpha, got.Rho[i], want)
				}
			}
		}
	}
}

// The ε that Figures 22 and 23 draw, from a grid of orders, is just above that of the order search
// of dp/rdp, and rises with the steps.
func TestSpent(t *testing.T) {
	s := figtest.Store(t)
	at := Mechanism{"gaussian", 5, .001}
	curve := do(t, s, renyiOf, RenyiParams{Setting: at, Group: 2, Bound: "specific", From: 1, To: 1e3, N: 501})
	last := 0.0
	for _, steps := range []int{100, 1000, 10_000, 100_000} {
		got, _ := curve.spent(float64(steps))
		best := must.Get(dp.EpsilonBy(t.Context(), rdp.Accountant{}, dp.Repeat{Times: steps, Event: at.event()},
			dp.Relation{Group: 2}, spentDelta))
		// The worst split may change with the order: the grid takes the larger ρ at each order, dp
		// the larger ε of the splits.
		if !(got >= best.Epsilon*(1-1e-9) && got <= best.Epsilon*1.02) {
			t.Errorf("%d steps: ε = %v, by search %v", steps, got, best.Epsilon)
		}
		if got < last {
			t.Errorf("%d steps: ε falls from %v to %v", steps, last, got)
		}
		last = got
	}
}
