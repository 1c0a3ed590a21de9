package dptest

import (
	"math"
	"testing"

	"coupling/dp/pair"
	"coupling/lab/root"

	"pgregory.net/rapid"

	"coupling/lab/logspace"
)

// drawSteps draws a composition of one to three parts with moderate parameters.
func drawSteps(t *rapid.T) []pair.Step {
	n := rapid.IntRange(1, 3).Draw(t, "parts")
	steps := make([]pair.Step, n)
	for i := range steps {
		steps[i] = pair.Step{Pair: drawPair(t), Times: 1 << rapid.IntRange(0, 10).Draw(t, "log2 times")}
	}
	return steps
}

func drawPair(t *rapid.T) pair.Pair {
	scale := math.Exp(rapid.Float64Range(-0.5, 3).Draw(t, "log scale"))
	rate := math.Exp(rapid.Float64Range(-8, 0).Draw(t, "log rate"))
	inserted := rapid.IntRange(0, 3).Draw(t, "inserted")
	removed := rapid.IntRange(max(0, 1-inserted), 3).Draw(t, "removed")
	var p pair.Pair
	var err error
	switch rapid.IntRange(0, 5).Draw(t, "mechanism") {
	case 0:
		p, err = pair.Poisson(pair.Laplace, scale, rate, inserted, removed)
	case 1:
		p, err = pair.RandomizedResponse(rapid.Float64Range(0.5, 0.99).Draw(t, "truth"), rate, 0)
	default:
		p, err = pair.Poisson(pair.Gaussian, scale, rate, inserted, removed)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// extremes asks at corners of the parameters' ranges; in short tests at one δ for each of the others.
func (s Subject) extremes(t *testing.T) {
	for a, sigma := range []float64{1e-3, 0.1, 30, 1e6} {
		for b, rate := range []float64{1e-12, 1e-5, 0.5, 1} {
			for c, times := range []int{1, 1000, 1_000_000_000} {
				for d, delta := range []float64{1e-200, 1e-9, 0.9} {
					if !testing.Short() || d == (a+b+c)%3 {
						s.extreme(t, sigma, rate, times, delta)
					}
				}
			}
		}
	}
}

// extreme checks one corner: a number or an error, and not below what is certain to be lost.
func (s Subject) extreme(t *testing.T, sigma, rate float64, times int, delta float64) {
	t.Helper()
	p := gaussian(t, sigma, rate, 0, 1)
	got, err := s.ask([]pair.Step{{Pair: p, Times: times}}, pair.EpsilonAt(delta))
	if err != nil {
		return
	}
	// One step is a lower bound of many; without sampling the composition is one Gaussian.
	least := leastEpsilon(p, delta)
	if rate == 1 {
		least = max(least, leastEpsilon(gaussian(t, sigma/math.Sqrt(float64(times)), 1, 0, 1), delta))
	}
	if math.IsNaN(got.Upper) || got.Upper < least*(1-1e-9) || got.Lower > got.Upper {
		t.Errorf("σ=%g r=%g T=%d δ=%g: ε in %v, at least %v is certain", sigma, rate, times, delta, got, least)
	}
}

// leastEpsilon inverts the profile of one step.
func leastEpsilon(p pair.Pair, delta float64) float64 {
	holds := func(eps float64) bool { return p.LogDelta(eps) <= logspace.Log(delta) }
	if holds(0) {
		return 0
	}
	least, _ := root.Least(holds, 0, 1)
	return least
}
