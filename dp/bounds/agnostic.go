package bounds

import (
	"math"

	"coupling/dp"
	"coupling/dp/internal/check"
	"coupling/dp/pair"
	"coupling/lab/logspace"
)

// GroupProfile returns log δ_k(ε) of a base mechanism without sampling, for batches that differ in k records.
type GroupProfile func(k int, eps float64) float64

// BaseProfile returns the group profiles of a mechanism such as dp.Gaussian, dp.Laplace,
// dp.RandomizedResponse and dp.NormNoise.
func BaseProfile(mechanism dp.Event) (GroupProfile, error) {
	if _, err := removed(mechanism, 1); err != nil {
		return nil, err
	}
	return func(k int, eps float64) float64 {
		if k == 0 {
			return logspace.Log(max(0, -math.Expm1(eps)))
		}
		p, err := removed(mechanism, k)
		if err != nil {
			return 0 // δ = 1: cannot happen for a mechanism that has a pair at k = 1
		}
		return p.LogDelta(eps)
	}, nil
}

// removed returns the pair of a single step of which k records are removed.
func removed(e dp.Event, k int) (pair.Pair, error) {
	b, err := single(e, dp.Relation{Kind: dp.Removal, Group: k})
	if err != nil {
		return nil, err
	}
	return b[0].Steps[0].Pair, nil
}

// AgnosticDelta is the mechanism-agnostic bound of Balle, Barthe and Gaboardi (2018), for groups
// (SSKG, section 3.2): with w_k the probability that k special records are in the batch, p₀ = 1 −
// w_0 and e^ε = 1 + p₀(e^ε₀ − 1),
//
//	δ(ε) ≤ Σ_{k≥1} w_k δ_k(ε₀),   for ε ≥ 0.
//
// logW are log w_k: pair.Binomial(K, r) for Poisson sampling of a group of K inserted or removed
// records, pair.Hypergeometric(N, K, n) without replacement, pair.Binomial(n, 1/N) with
// replacement. It returns log δ.
func AgnosticDelta(base GroupProfile, logW []float64, eps float64) (float64, error) {
	if err := in.Epsilon(eps); err != nil {
		return 0, err
	}
	if len(logW) < 2 {
		return 0, bad("weights: %d of them: must be at least 2", len(logW))
	}
	hit := math.Inf(-1)
	for _, w := range logW[1:] {
		hit = logspace.Add(hit, w)
	}
	inner := unamplify(eps, min(0, hit))
	sum := math.Inf(-1)
	for k, w := range logW {
		if k > 0 && !math.IsInf(w, -1) {
			sum = logspace.Add(sum, w+base(k, inner))
		}
	}
	return min(0, sum), nil
}

// unamplify solves e^ε = 1 + p(e^ε₀ − 1) for ε₀, given log p.
func unamplify(eps, logP float64) float64 {
	if eps < 30 && logP > -700 {
		if v := math.Log1p(math.Expm1(eps) / math.Exp(logP)); !math.IsInf(v, 1) {
			return v
		}
	}
	if eps < 1e-5 {
		return logspace.OnePlusExp(logspace.Log(math.Expm1(eps)) - logP) // the ratio may overflow
	}
	return eps + math.Log1p(math.Expm1(logP)*math.Exp(-eps)) - logP
}

// Variant chooses between versions of a published bound.
type Variant int

const (
	// Published is the theorem as stated.
	Published Variant = iota
	// Refined uses more about the mechanism: see the function.
	Refined
)

// WangRDP is the mechanism-agnostic Rényi bound for n of size records without replacement under
// substitution (Wang, Balle, Kasiviswanathan 2019, Theorem 9), for integer α ≥ 2, with γ = n/size:
//
//	ρ(α) ≤ log(1 + Σ_{j=2}^α C(α,j) γ^j ζ_j)/(α−1),
//	ζ_2 = min(4·E_Q(p/q−1)², e^{ρ(2)} min(2, (e^{ε∞}−1)²)),   ζ_j = e^{(j−1)ρ(j)} min(2, (e^{ε∞}−1)^j).
//
// Refined takes ζ_j = 4·E_Q|p/q − 1|^j for j ≥ 3, which is what their proof has before it is
// bounded by Rényi divergences (the self-consistent version): it is smaller for large α and may be
// larger for small ones. SSKG draw both in Figures 3 and 7. base is the pair of the unsampled
// mechanism under substitution, in the worse of its two directions. The result is rounded up.
func WangRDP(base pair.Pair, n, size, alpha int, v Variant) (float64, error) {
	if err := check.All(in.Subset(n, size), in.Order(float64(alpha))); err != nil {
		return 0, err
	}
	logGamma := logspace.Log(float64(n)) - logspace.Log(float64(size))
	pure := base.Support().Max
	sum := 0.0 // log(1 + …)
	for j := 2; j <= alpha; j++ {
		k, e := base.LogMoment(float64(j))
		zeta := k + e + math.Min(math.Ln2, float64(j)*logspace.Expm1(pure))
		switch {
		case j == 2:
			chi2 := logspace.Log(math.Expm1(k + e)) // E_Q(p/q−1)² = e^{ρ(2)} − 1
			zeta = min(zeta, logspace.Log(4)+chi2)
		case v == Refined:
			vajda, err := logVajda(base, float64(j))
			if err != nil {
				return 0, err
			}
			zeta = logspace.Log(4) + vajda
		}
		sum = logspace.Add(sum, pair.LogBinomial(alpha, j)+float64(j)*logGamma+zeta)
	}
	return sum / float64(alpha-1) * (1 + pair.BinomialRoom(alpha)), nil
}

// logVajda returns log E_Q|p/q − 1|^j of a pair on finitely many points.
func logVajda(p pair.Pair, j float64) (float64, error) {
	a, ok := p.(*pair.Discrete)
	if !ok {
		return 0, bad("base = %T: the refined bound is for pairs on finitely many points", p)
	}
	sum := math.Inf(-1)
	for _, x := range a.Points() {
		if x.Q > 0 {
			sum = logspace.Add(sum, logspace.Log(x.Q)+j*logspace.Log(math.Abs(math.Expm1(x.Loss))))
		} else if x.P > 0 {
			return math.Inf(1), nil
		}
	}
	return sum, nil
}

// AgnosticGroupRDP is the mechanism-agnostic Rényi bound for groups under Poisson sampling (SSKG, appendix N):
//
//	e^{(α−1)ρ(α)} ≤ Σ_{k=1}^K Bin(k|K,r)/p₀ · Ψ_α((1−p₀)Q + p₀P_k ‖ Q),   p₀ = 1 − (1−r)^K,
//
// with (P_k, Q) the unsampled mechanism at distance k. It is the larger of the two directions, rounded up.
func AgnosticGroupRDP(mechanism dp.Event, rate float64, group int, alpha float64) (float64, error) {
	if err := check.All(in.Rate(rate), in.Positive("group", float64(group)), in.Order(alpha)); err != nil {
		return 0, err
	}
	weights := pair.Binomial(group, rate)
	hit := -math.Expm1(float64(group) * math.Log1p(-rate))
	out, back := math.Inf(-1), math.Inf(-1)
	for k := 1; k <= group; k++ {
		p, err := removed(mechanism, k)
		if err == nil {
			p, err = pair.Sampled(p, hit)
		}
		if err != nil {
			return 0, err
		}
		w := weights[k] - logspace.Log(hit)
		a, ea := p.LogMoment(alpha)
		b, eb := p.Swap().LogMoment(alpha)
		out, back = logspace.Add(out, w+a+ea), logspace.Add(back, w+b+eb)
	}
	return max(out, back) / (alpha - 1) * (1 + 1e-13), nil
}
