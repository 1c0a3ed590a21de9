package pair

import (
	"math"
	"testing"
)

// Extreme pairs: never NaN, within the bounds that every profile has, and profile and moments bound each other:
// log δ(ε) ≤ K(α) − βε + β log β − α log α for every α = 1 + β (Canonne, Kamath, Steinke 2020).
func FuzzPair(f *testing.F) {
	for _, scale := range []float64{1e-3, 1, 1e6} {
		for _, rate := range []float64{1e-12, 0.01, 1} {
			for kind := range uint8(5) {
				f.Add(kind, scale, rate, uint8(1), uint8(3), 0.3, 1.7)
				f.Add(kind, scale, rate, uint8(0), uint8(1), 1e-9, 1e4)
				f.Add(kind+128, scale, rate, uint8(16), uint8(16), 40.0, 1e-6)
			}
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, scale, rate float64, inserted, removed uint8, eps, beta float64) {
		p, err := fuzzPair(kind%128, scale, rate, int(inserted%33), int(removed%33))
		if err != nil || math.IsNaN(eps) || !(beta > 1e-12 && beta < 1e12) {
			return
		}
		if kind >= 128 {
			p = p.Swap()
		}
		d := p.LogDelta(eps)
		if math.IsNaN(d) || d > 0 || d < math.Log(max(0, -math.Expm1(eps)))-1e-12 {
			t.Fatalf("%v: log δ(%v) = %v", p, eps, d)
		}
		lp, lq := p.LogTails(eps)
		if math.IsNaN(lp) || math.IsNaN(lq) || lp > 0 || lq > 0 || d > lp+1e-9*(1+math.Abs(lp)) {
			t.Fatalf("%v: log tails at %v: %v, %v; log δ %v", p, eps, lp, lq, d)
		}
		k, bound := p.LogMoment(1 + beta)
		if math.IsNaN(k) || math.IsNaN(bound) || k < -bound {
			t.Fatalf("%v: K(1 + %v) = %v ± %v", p, beta, k, bound)
		}
		if math.IsInf(eps, 0) || math.IsInf(k, 1) {
			return
		}
		limit := k + bound - beta*eps + beta*math.Log(beta) - (1+beta)*math.Log1p(beta)
		// The rounding of ε moves the limit by β·ulp(ε).
		if room := p.RelErr() + 1e-15*(k+beta*(1+math.Abs(eps))+math.Abs(d)); d > limit+room {
			t.Fatalf("%v: log δ(%v) = %v above %v by the moment of order 1 + %v", p, eps, d, limit, beta)
		}
	})
}

func fuzzPair(kind uint8, scale, rate float64, inserted, removed int) (Pair, error) {
	switch kind % 5 {
	case 0:
		return Poisson(Gaussian, scale, rate, inserted, removed)
	case 1:
		return Poisson(Laplace, scale, rate, inserted, removed)
	case 2:
		return NewNorm(1/scale, 2+inserted, 1, rate)
	case 3:
		return oneExchanged(Gaussian, scale, 1+removed, 40)
	}
	return Shifted(Laplace, scale, Hypergeometric(100, removed, 1+inserted), Hypergeometric(100, inserted, 1+inserted))
}
