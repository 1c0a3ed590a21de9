package dp_test

import (
	"errors"
	"math"
	"testing"

	"coupling/dp"

	"gonum.org/v1/gonum/stat/distuv"
)

// Three records of value −1 and one of value 1, batches of at most two: δ of their noisy sum by
// enumeration of the batches and quadrature lies below the pair's, in both directions.
func TestTruncatedPoisson(t *testing.T) {
	const sigma, rate, most, others = .8, .6, 2, 3
	// batches returns the law of the sum, over the size of the Poisson sample of the others.
	density := func(with bool, x float64) (p float64) {
		for size := 0; size <= others; size++ {
			weight := distuv.Binomial{N: others, P: rate}.Prob(float64(size))
			kept := min(size, most)
			p += weight * distuv.Normal{Mu: -float64(kept), Sigma: sigma}.Prob(x)
			if !with {
				continue
			}
			q := rate * min(1, float64(most)/float64(size+1))
			moved := 1 - float64(min(size, most-1))
			p += weight * q * (distuv.Normal{Mu: moved, Sigma: sigma}.Prob(x) -
				distuv.Normal{Mu: -float64(kept), Sigma: sigma}.Prob(x))
		}
		return p
	}
	e := dp.TruncatedPoisson{Rate: rate, Cap: most, Size: others + 1, Event: dp.Gaussian{NoiseMultiplier: sigma}}
	for _, eps := range []float64{0, .5, 1, 2, 4} {
		remove, add := 0.0, 0.0
		const h = 1e-3
		for x := -12.0; x < 12; x += h {
			p, q := density(true, x), density(false, x)
			remove, add = remove+h*max(0, p-math.Exp(eps)*q), add+h*max(0, q-math.Exp(eps)*p)
		}
		for i, want := range [...]float64{remove, add} {
			g, err := dp.Delta(t.Context(), e, directions[i], eps)
			if err != nil || g.Delta < want*(1-1e-6)-1e-12 || g.Lower != 0 {
				t.Errorf("δ(%v), %v: %v, %v; by enumeration %v", eps, directions[i], g, err, want)
			}
		}
	}
	// With little noise δ is the probability to be the one of a sample that is kept; the others are Poisson of mean 1.
	const many = 1e12
	little := dp.TruncatedPoisson{Rate: 1 / many, Cap: 1, Size: many + 1, Event: dp.Gaussian{NoiseMultiplier: .05}}
	if g, err := dp.Delta(t.Context(), little, dp.Relation{}, 1); g.Delta < -math.Expm1(-1)/many {
		t.Errorf("little noise: %v, %v", g, err)
	}
	plain := epsilonOf(t, dp.Repeat{Times: 100, Event: dp.Poisson{Rate: .01, Event: dp.Gaussian{NoiseMultiplier: 1}}},
		1e-6)
	step := dp.TruncatedPoisson{Rate: .01, Size: 1000, Event: dp.Gaussian{NoiseMultiplier: 1}}
	last := math.Inf(1)
	// a larger cap is hit less often, and one that is never hit does not matter
	for _, c := range []int{12, 20, 60, 1000} {
		step.Cap = c
		g := epsilonOf(t, dp.Repeat{Times: 100, Event: step}, 1e-6)
		if g.Epsilon > last || g.Epsilon < plain.Epsilon*(1-1e-4) || c >= 60 && g.Epsilon > plain.Epsilon*(1+1e-4) {
			t.Errorf("at most %d: %v; without a limit %v, a smaller one %v", c, g, plain, last)
		}
		last = g.Epsilon
	}
	// If all records are always drawn, a record comes in the place of another at the rate of the
	// batch in the data; sizes are grouped to 3 %.
	always := dp.TruncatedPoisson{Rate: 1, Cap: 100, Size: 1000, Event: dp.Gaussian{NoiseMultiplier: 1}}
	if a, b := epsilonOf(t, always, 1e-6), epsilonOf(t, dp.Poisson{Rate: .1, Event: dp.Gaussian{NoiseMultiplier: .5}},
		1e-6); a.Epsilon < b.Epsilon || a.Epsilon > 1.01*b.Epsilon {
		t.Errorf("always full: %v; %v", a, b)
	}
	// A batch that is nearly always full is not charged as one that is hardly ever.
	always.Rate = .5
	if a, b := epsilonOf(t, always, 1e-6), epsilonOf(t, dp.Poisson{Rate: .1, Event: dp.Gaussian{NoiseMultiplier: .5}},
		1e-6); a.Epsilon < b.Epsilon || a.Epsilon > 1.1*b.Epsilon {
		t.Errorf("nearly always full: %v; %v", a, b)
	}
	always.Rate, always.Cap, always.Size = 1e-17, 5, 1e18 // mostly full, of so many that 1 − rate is 1
	if g, err := dp.Epsilon(t.Context(), always, dp.Relation{}, 1e-20); !errors.Is(err, dp.ErrParameter) {
		t.Errorf("of 10^18: %v, %v", g, err)
	}
	for _, r := range []dp.Relation{{Group: 2}, {Kind: dp.Substitution}} {
		if _, err := dp.Epsilon(t.Context(), step, r, 1e-6); !errors.Is(err, dp.ErrNoPair) {
			t.Errorf("%v: %v", r, err)
		}
	}
}
