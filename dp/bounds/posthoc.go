package bounds

import (
	"math"

	"coupling/dp/internal/check"
	"coupling/lab/logspace"
)

// PostHocDelta is group privacy applied afterwards (SSKG, C.1.4): a mechanism with profile δ₁ for one record has for K
//
//	δ_K(ε) ≤ δ₁(ε/K)·Σ_{k<K} e^{kε/K}.
//
// The sum grows with ε, so the bound may rise again where δ₁ falls slowly; a bound at a smaller ε
// also holds at ε.
//
// logDelta returns log δ₁, of a whole composition if need be; the result is log δ_K, at most 0.
//
// The correct baseline for a group takes logDelta of the composition for one record. The
// experiments published with SSKG (Figures 6, 18 to 21, 24) pass the profile that was already
// composed for the group of K, and so pay for the group twice; pass that profile to draw the figure
// as published.
func PostHocDelta(logDelta func(eps float64) float64, group int, eps float64) (float64, error) {
	if err := check.All(in.Positive("group", float64(group)), in.Epsilon(eps)); err != nil {
		return 0, err
	}
	step := eps / float64(group)
	sum := math.Inf(-1)
	for k := range group {
		sum = logspace.Add(sum, float64(k)*step)
	}
	return min(0, logDelta(step)+sum), nil
}

// PostHocRenyi is group privacy for Rényi divergences applied afterwards (Mironov 2017, Proposition
// 11; SSKG, C.1.4), for a group of 2^m: ρ_K(α) ≤ (α−½)/(α−1)·ρ_{K/2}(2α) + ρ_{K/2}(2α−1). rho
// returns ρ₁ for one record. It needs 2^m orders.
func PostHocRenyi(rho func(order float64) float64, group int, alpha float64) (float64, error) {
	if group < 1 || group&(group-1) != 0 || group > 1<<20 {
		return 0, bad("group = %d: must be a power of 2 up to 2^20", group)
	}
	if err := in.Order(alpha); err != nil {
		return 0, err
	}
	return postHocRenyi(rho, group, alpha), nil
}

func postHocRenyi(rho func(float64) float64, group int, alpha float64) float64 {
	if group == 1 {
		return rho(alpha)
	}
	a := postHocRenyi(rho, group/2, 2*alpha)
	b := postHocRenyi(rho, group/2, 2*alpha-1)
	return (alpha-0.5)/(alpha-1)*a + b
}
