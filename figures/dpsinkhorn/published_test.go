package dpsinkhorn

import (
	"math"
	"testing"

	"coupling/dp/pair"
	"coupling/dp/rdp"
	"coupling/lab/must"
)

// The steps are the most whose ε is at most 10 by the paper's accounting, and about what it prints.
func TestPublishedSteps(t *testing.T) {
	for sigma, steps := range publishedSteps {
		p := must.Get(pair.Poisson(pair.Gaussian, sigma, paperRate, 0, 1))
		for more := range 2 {
			got := must.Get(rdp.Accountant{Conversion: rdp.Classical}.Bound(t.Context(),
				[]pair.Step{{Pair: p, Times: rows * (steps + more)}}, pair.EpsilonAt(delta)))
			if over := got.Upper > 10; over != (more > 0) {
				t.Errorf("σ = %g, %d steps: ε = %g", sigma, steps+more, got.Upper)
			}
		}
	}
	for sigma, printed := range map[float64]float64{1.5: 160_000, 1.9: 280_000} { // appendix D.4, as about
		if got := float64(publishedSteps[sigma]); math.Abs(got/printed-1) > .01 {
			t.Errorf("σ = %g: %g steps, printed as about %g", sigma, got, printed)
		}
	}
}
