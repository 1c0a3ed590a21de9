package penalty_test

import (
	"math"
	"testing"

	"coupling/ot/penalty"
)

// A step satisfies its equation: e^((f−s)/ε) is the share, which the potential f asks for; no other potential has a
// larger Conjugate(f) − ε e^((f−s)/ε). The slope of Conjugate is the share; and ρD(p|q) is what Fenchel's inequality
// says, an equality at p = q·share.
func TestTerms(t *testing.T) {
	for _, kind := range []penalty.Kind{penalty.KL, penalty.TotalVariation, penalty.ChiSquare} {
		for _, rho := range []float64{0.1, 1, 50, math.Inf(1)} {
			term := penalty.Term{Kind: kind, Rho: rho}
			for _, eps := range []float64{1e-3, 0.2, 5} {
				for _, s := range []float64{-3, -0.1, -1e-3, 0, 0.05, 0.3, 4, 60} {
					f, share := term.Step(s, eps)
					if (f-s)/eps > 600 { // the mass is cut off
						continue
					}
					same := func(what string, got, want float64) {
						if math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
							t.Errorf("kind %d, ρ = %g, ε = %g, s = %g: %s: %g for %g", kind, rho, eps, s, what, got,
								want)
						}
					}
					same("e^((f−s)/ε)", math.Exp((f-s)/eps), share)
					if !term.Exact() {
						same("Share", term.Share(f, share), share)
						same("ρD", term.Of([]float64{share}, []float64{1}), term.Conjugate(f)-f*share)
					}
					best := term.Conjugate(f) - eps*share
					for _, h := range []float64{-1e-3 * eps, 1e-3 * eps} {
						if bounded, _ := term.Bounded(f); bounded && math.Abs(f+h) > rho {
							continue
						}
						if v := term.Conjugate(f+h) - eps*math.Exp((f+h-s)/eps); v > best+1e-12*(1+math.Abs(best)) {
							t.Errorf("kind %d, ρ = %g, ε = %g, s = %g: %g is better than f = %g", kind, rho, eps, s,
								f+h, f)
						}
					}
				}
			}
		}
	}
}
