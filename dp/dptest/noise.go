package dptest

import (
	"math"
	"testing"

	"coupling/dp/pair"

	"gonum.org/v1/gonum/integrate/quad"
)

// Noise checks the promises of a noise family of one's own: its density is symmetric and log-concave,
// its tails are integrals of the density, LogRatio is the density's and keeps its limits, and beyond
// Reach nothing of the moments is left. It takes milliseconds.
func Noise(t testing.TB, n pair.Noise) {
	t.Helper()
	inf := math.Inf(1)
	if !(n.LogTail(-inf) == 0) || math.Abs(n.LogTail(0)+math.Ln2) > 1e-13 || !math.IsInf(n.LogTail(inf), -1) {
		t.Errorf("%v: log P(X > t) = %v, %v, %v at −∞, 0, ∞", n, n.LogTail(-inf), n.LogTail(0), n.LogTail(inf))
	}
	const step = 1. / 64
	for u := 0.; u < 24; u += step {
		a, b := n.LogDensity(u), n.LogTail(u)
		if left := n.LogDensity(-u); math.Abs(left-a) > 1e-13*(1+math.Abs(a)) {
			t.Errorf("%v: log density %v at %v, %v at %v", n, a, u, left, -u)
		}
		if n.LogDensity(u-step)+n.LogDensity(u+step) > 2*a+1e-12*(1+math.Abs(a)) {
			t.Errorf("%v: the density is not log-concave at %v", n, u)
		}
		if both := math.Exp(b) + math.Exp(n.LogTail(-u)); math.Abs(both-1) > 2e-13 {
			t.Errorf("%v: P(X > t) at %v and at %v add up to %v", n, u, -u, both)
		}
		// The tails' own 1e-13 is at most 80 times as much of a piece.
		piece := quad.Fixed(func(x float64) float64 { return math.Exp(n.LogDensity(x) - a) }, u, u+step, 6, nil, 0)
		if got := (math.Exp(b-a) - math.Exp(n.LogTail(u+step)-a)) / piece; math.Abs(got-1) > 1e-10 {
			t.Errorf("%v: P(X > t) falls by %v of the density's integral after %v", n, got, u)
		}
		for _, d := range [...]float64{-3, -.01, .5, 7} {
			want := n.LogDensity(u-d) - n.LogDensity(u)
			got, limit := n.LogRatio(u, d), n.LogRatio(math.Copysign(inf, d), d)
			if math.Abs(got-want) > 1e-12*(1+math.Abs(n.LogDensity(u))+math.Abs(want)) || got > limit {
				t.Errorf("%v: log ratio %v at %v for %v, want %v and at most %v", n, got, u, d, want, limit)
			}
		}
	}
	for _, beta := range [...]float64{0, 1, 30} {
		for _, d := range [...]float64{.1, 4} {
			at, most := d+n.Reach(beta, d), math.Inf(-1)
			log := func(u float64) float64 { return n.LogDensity(u-d) + beta*n.LogRatio(u, d) }
			for k := range 1000 {
				most = max(most, log(at*float64(k)/1000))
			}
			if rest := log(at) - most; !math.IsInf(at, 1) && rest > -690 {
				t.Errorf("%v: at Reach(%v, %v) the integrand is e^%.0f of its largest value", n, beta, d, rest)
			}
		}
	}
}
