package closed

import (
	"math"
	"testing"

	"coupling/dp/pair"
	"coupling/lab/must"
)

// One step has its own profile as the truth, and two have H(P²‖Q²) = ∫ p(x) δ₁(ε − L(x)) dx, here by the
// midpoint rule, which is accurate to 1e-9 for a density so smooth. Both are between the curves, which
// are within their promise of each other, also where only a rough answer is asked for.
func TestHits(t *testing.T) {
	for _, c := range []struct{ sigma, rate, delta, width, close float64 }{{.02, .1, 1e-3, 0, 1e-5},
		{.01, .01, 1e-5, 0, 1e-5}, {.03, .3, 1e-6, 0, 1e-5},
		{.07, .04, 1e-3, 1e-2, 1e-2}, {.08, .2, 1e-3, 1e-2, 1e-2}} {
		p := must.Get(pair.Poisson(pair.Gaussian, c.sigma, c.rate, 0, 1))
		two := func(eps float64) float64 {
			const n = 200_000
			sum, low := 0.0, -12*c.sigma
			h := (1 - 2*low) / n
			for i := range n {
				logQ, loss := p.At(low + h*(float64(i)+.5))
				sum += h * math.Exp(logQ+loss+p.LogDelta(eps-loss))
			}
			return math.Log(sum)
		}
		for times, truth := range map[int]func(eps float64) float64{1: p.LogDelta, 2: two} {
			lo, hi, ok := asHits([]pair.Step{{Pair: p, Times: times}}, pair.Question{At: c.delta, Width: c.width})
			if !ok {
				t.Fatalf("%+v × %d: not recognised", c, times)
			}
			eps, _ := invert(hi, math.Log(c.delta), hi.RelErr())
			for _, at := range []float64{eps * .98, eps * (1 - 1e-6), eps} {
				want, a, b := truth(at), lo.LogDelta(at)-lo.RelErr(), hi.LogDelta(at)+hi.RelErr()
				if !(a <= want+1e-8 && want-1e-8 <= b && b-a < c.close) {
					t.Errorf("%+v × %d: log δ(%v) in [%v, %v], is %v", c, times, at, a, b, want)
				}
			}
		}
	}
	for _, sigma := range []float64{.1, 1} { // noise hides the batches
		p, _ := pair.Poisson(pair.Gaussian, sigma, .01, 0, 1)
		if _, _, ok := asHits([]pair.Step{{Pair: p, Times: 1000}}, pair.EpsilonAt(1e-5)); ok {
			t.Errorf("σ = %v: recognised", sigma)
		}
	}
}
