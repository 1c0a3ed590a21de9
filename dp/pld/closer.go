package pld

import (
	"math"

	"coupling/dp/pair"
)

// narrowerView returns the view with the share of the tilted mass that decides the answer, where that is small.
//
// The tilt balances the whole composition, as it must where all steps together decide. Where one
// large loss decides (rare sampling, small δ) the tilted law has two parts, no large loss and one
// too large, and little mass near the answer. No tilt does better, but finer cells do: their
// benefit grows as the share falls.
func narrowerView(v view, q question, got pair.Interval, high *density) (view, bool) {
	share := shareOf(v, q, got, high)
	if math.IsNaN(share) || share > 0.05 {
		return v, false
	}
	next := v
	next.share = max(share, 1e-9)
	// Most of the variance is that of losses that do not decide the answer.
	next.variance = min(v.variance, 4/(v.s*v.s))
	return next, v.share == 0 || next.share < v.share/4
}

// shareOf is about the share of the tilted mass that decides the answer, NaN if unknown.
func shareOf(v view, q question, got pair.Interval, high *density) float64 {
	eps := q.eps
	if q.invert {
		eps = got.Upper
	}
	if math.IsInf(eps, 1) || !(eps >= 0) {
		return math.NaN()
	}
	_, log := high.log(eps)
	// Were the tilted mass normal about ε, δ = e^{k − sε}·E[e^{−s(L−ε)}(1 − e^{ε−L}); L > ε] would be e^{k − sε}/(s(s+1)·scale·√2π).
	usual := v.k - v.s*eps - math.Log(v.s) - math.Log1p(v.s) - math.Log(v.scale()) - 0.5*math.Log(2*math.Pi)
	return math.Exp(min(0, log-usual))
}
