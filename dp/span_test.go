package dp

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// What dominates a span of splits dominates each of them, for every mechanism and sampling, at all ε.
func TestSpansDominate(t *testing.T) {
	drawn, checked := 0, 0
	defer func() { // short mode draws a fifth
		if checked < 3*drawn/10 {
			t.Errorf("only %d of %d spans were checked", checked, drawn)
		}
	}()
	rapid.Check(t, func(t *rapid.T) {
		drawn++
		scale := math.Exp(rapid.Float64Range(-1, 2).Draw(t, "log scale"))
		m := rapid.SampledFrom([]Event{Gaussian{scale}, Laplace{scale}, RandomizedResponse{.5 + .5*math.Exp(-scale)},
			DiscreteLaplace{Scale: scale}, DiscreteGaussian{Sigma: scale}, Pure{scale},
			Approximate{scale, 1e-4}}).Draw(t, "mechanism")
		size := rapid.IntRange(30, 200).Draw(t, "size")
		batch := rapid.IntRange(1, size-12).Draw(t, "batch")
		e := rapid.SampledFrom([]Event{m, Poisson{math.Exp(rapid.Float64Range(-5, 0).Draw(t, "log rate")), m},
			WithoutReplacement{batch, size, m}, WithReplacement{batch, size, m}}).Draw(t, "event")
		k := rapid.IntRange(2, 12).Draw(t, "group")
		least := rapid.IntRange(0, k-1).Draw(t, "least")
		most := rapid.IntRange(least+1, k).Draw(t, "most")
		all, _, err := branch(e, Relation{Group: k}, span{k, least, most}, 1000)
		if err != nil {
			return // a range of which no batch can be drawn, or δ is 1
		}
		checked++
		for removed := least; removed <= most; removed++ {
			one, _, err := branch(e, Relation{Group: k}, span{k, removed, removed}, 1000)
			if err != nil {
				t.Fatal(err)
			}
			a, b := all.Steps[0].Pair, one.Steps[0].Pair
			for _, eps := range []float64{-3, -.3, 0, .01, .2, 1, 4} {
				x, y := a.LogDelta(eps), b.LogDelta(eps)
				if tol := 2 * (a.RelErr() + b.RelErr() + 1e-10); x < y-tol && math.Exp(y)-math.Exp(x) > 1e-14 {
					t.Fatalf("%v, %d to %d of %d: log δ(%v) = %v, with %d removed %v", e, least, most, k, eps, x,
						removed, y)
				}
			}
		}
	})
}
