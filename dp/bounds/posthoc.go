package bounds

import (
	"math"

	"coupling/dp/internal/logspace"
)

// PostHocDelta is group privacy applied afterwards (SSKG, C.1.4): a mechanism with profile δ₁ for one record has for K
//
//	δ_K(ε) ≤ δ₁(ε/K)·Σ_{k<K} e^{kε/K}.
//
// The sum grows with ε, so that the bound may rise again where δ₁ falls slowly: PostHocCurve does not.
//
// logDelta returns log δ₁, of a whole composition if need be; the result is log δ_K, at most 0.
//
// The correct baseline for a group takes logDelta of the composition for one record. The experiments published with SSKG (Figures
// 6, 18 to 21, 24) pass the profile that was already composed for the group of K, and so pay for the group twice: give that profile
// to draw the figure as published.
func PostHocDelta(logDelta func(eps float64) float64, group int, eps float64) (float64, error) {
	if group < 1 {
		return 0, bad("group = %d: must be at least 1", group)
	}
	if err := in.Epsilon(eps); err != nil {
		return 0, err
	}
	step := eps / float64(group)
	sum := math.Inf(-1)
	for k := range group {
		sum = logspace.Add(sum, float64(k)*step)
	}
	return min(0, logDelta(step)+sum), nil
}

// PostHocCurve is PostHocDelta at increasing eps, and falls: what holds at ε′ ≤ ε holds at ε too, so that the least so far is taken.
func PostHocCurve(logDelta func(eps float64) float64, group int, eps []float64) ([]float64, error) {
	out := make([]float64, len(eps))
	for i, e := range eps {
		if i > 0 && !(e >= eps[i-1]) {
			return nil, bad("eps[%d] = %v: must be at least the %v before", i, e, eps[i-1])
		}
		v, err := PostHocDelta(logDelta, group, e)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			v = min(v, out[i-1])
		}
		out[i] = v
	}
	return out, nil
}

// PostHocRenyi is group privacy for Rényi divergences applied afterwards (Mironov 2017, Proposition 11; SSKG, C.1.4), for a group of
// 2^m: ρ_K(α) ≤ (α−½)/(α−1)·ρ_{K/2}(2α) + ρ_{K/2}(2α−1). rho returns ρ₁ for one record. It needs 2^m orders.
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

// AbadiGroup is the leading term of the asymptotic moments bound of Abadi et al. (2016, Lemma 3) for groups, in the spirit of
// SSKG, N.5: with λ = α − 1 and noise at least as large as the group, the log moment of one Poisson-sampled Gaussian step is at most
//
//	K² r² λ(λ+1) / ((1−r)^K σ²) + O((K r λ/σ)³).
//
// The remainder is not bounded: the number is an estimate, and no guarantee. For K = 1 it is their lemma. The constant comes from the
// second-order term α(α−1)/2·χ², with χ² = Σ Bin(i|K,r)Bin(j|K,r)(e^{ij/σ²} − 1)/(1−r)^K ≤ 2K²r²/((1−r)^K σ²) as e^x − 1 ≤ 2x on [0, 1].
func AbadiGroup(noise, rate float64, group int, alpha float64) (float64, error) {
	switch {
	case group < 1:
		return 0, bad("group = %d: must be at least 1", group)
	case !(noise >= float64(group)) || math.IsInf(noise, 0):
		return 0, bad("noise = %v: must be at least the group's %d", noise, group)
	case !(rate > 0 && rate < 1):
		return 0, bad("rate = %v: must be in (0, 1)", rate)
	case !(alpha > 1) || math.IsInf(alpha, 1):
		return 0, bad("alpha = %v: must be above 1 and finite", alpha)
	}
	kr := float64(group) * rate
	return kr * kr * alpha * (alpha - 1) / (math.Exp(float64(group)*math.Log1p(-rate)) * noise * noise), nil
}
