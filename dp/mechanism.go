package dp

import (
	"fmt"
	"math"

	"coupling/dp/internal/logspace"
	"coupling/dp/pair"
)

// Gaussian adds normal noise to a vector. NoiseMultiplier is its standard deviation in units of the L2 sensitivity: see Conventions for
// what that is the sensitivity to.
type Gaussian struct{ NoiseMultiplier float64 }

// Laplace adds to every coordinate Laplace noise of scale Scale, in units of the L1 sensitivity.
type Laplace struct{ Scale float64 }

// RandomizedResponse tells a bit truthfully with probability Truth in [1/2, 1], else its opposite.
type RandomizedResponse struct{ Truth float64 }

// NormNoise adds to a vector of dimension Dim noise with density ∝ exp(−Zeta·‖v‖₂) (L2 sensitivity 1).
type NormNoise struct {
	Zeta float64
	Dim  int
}

// FromPair is any mechanism with a dominating pair of its own: Removal dominates the removal of one record, its swap the insertion;
// in batches of fixed size and under Exchange it dominates the exchange of one record for any other. Larger groups are refused.
type FromPair struct{ Removal pair.Pair }

// Pure is any ε-differentially private mechanism, such as the exponential mechanism or the noisy maximum. Each record that differs costs
// Epsilon.
type Pure struct{ Epsilon float64 }

// Approximate is any (ε, δ)-differentially private mechanism. k records that differ cost kε and δ·(1 + e^ε + … + e^((k−1)ε)).
type Approximate struct{ Epsilon, Delta float64 }

// ZCDP is any ρ-zero-concentrated differentially private mechanism: its Rényi divergences are at most Rho·α in both directions (Bun,
// Steinke 2016). k records that differ cost k²ρ. Only moments are known of it, so that what it is composed with is accounted for by
// Rényi divergences (package rdp). A Poisson sample of it has the bound of Zhu and Wang (2019) for one record.
type ZCDP struct{ Rho float64 }

// String shows the event.
func (e Gaussian) String() string {
	return fmt.Sprintf("Gaussian(noise multiplier %g)", e.NoiseMultiplier)
}

// String shows the event.
func (e Laplace) String() string { return fmt.Sprintf("Laplace(scale %g)", e.Scale) }

// String shows the event.
func (e RandomizedResponse) String() string {
	return fmt.Sprintf("RandomizedResponse(truth %g)", e.Truth)
}

// String shows the event.
func (e NormNoise) String() string { return fmt.Sprintf("NormNoise(zeta %g, dim %d)", e.Zeta, e.Dim) }

// String shows the event.
func (e FromPair) String() string { return fmt.Sprintf("FromPair(%v)", e.Removal) }

// String shows the event.
func (e Pure) String() string { return fmt.Sprintf("Pure(%g)", e.Epsilon) }

// String shows the event.
func (e Approximate) String() string { return fmt.Sprintf("Approximate(%g, %g)", e.Epsilon, e.Delta) }

// String shows the event.
func (e ZCDP) String() string { return fmt.Sprintf("ZCDP(%g)", e.Rho) }

// Pair returns a dominating pair.
func (e Gaussian) Pair(b Batch) (pair.Pair, error) {
	if err := in.Positive("noise multiplier", e.NoiseMultiplier); err != nil {
		return nil, err
	}
	return b.Additive(e, pair.Gaussian, e.NoiseMultiplier)
}

// Pair returns a dominating pair.
func (e Laplace) Pair(b Batch) (pair.Pair, error) {
	if err := in.Positive("scale", e.Scale); err != nil {
		return nil, err
	}
	return b.Additive(e, pair.Laplace, e.Scale)
}

// Pair is SSKG M.2: the special records either all flip the bit or leave it. With records on both sides the mechanism may at each
// step be the worse of the two.
func (e RandomizedResponse) Pair(b Batch) (p pair.Pair, err error) {
	if !(e.Truth >= 0.5 && e.Truth <= 1) {
		return nil, bad("truth = %v: must be in [0.5, 1]", e.Truth)
	}
	removed, inserted := 1.0, 0.0
	if b.Sampled() {
		removed, inserted = b.Hit()
	}
	if removed == 0 || inserted == 0 {
		p, err = pair.RandomizedResponse(e.Truth, removed, inserted)
	} else {
		p, err = pair.ResponseEither(e.Truth, removed, inserted)
	}
	if err != nil {
		return nil, fmt.Errorf("dp: %v: %w", e, err)
	}
	return p, nil
}

// Pair is a plain shift of any length, or one sampled record (advanced joint convexity).
func (e NormNoise) Pair(b Batch) (pair.Pair, error) {
	if err := in.Positive("zeta", e.Zeta); err != nil {
		return nil, err
	}
	if e.Dim < 1 {
		return nil, bad("dim = %d: must be at least 1", e.Dim)
	}
	if e.Dim == 1 {
		return b.Additive(e, pair.Laplace, 1/e.Zeta)
	}
	if !b.Sampled() {
		return e.shifted(float64(b.Distance()), 1)
	}
	s := b.sampling
	if b.exchange && s.kind == poisson {
		return nil, b.Refuse(e, "exchanges in a Poisson sample; substitution bounds it")
	}
	if s.kind == with || b.inserted > 1 || b.removed > 1 {
		return nil, b.Refuse(e, "norm noise on a sample in which more than one record may differ")
	}
	w := s.rate
	if s.kind == without {
		w = float64(s.batch) / float64(s.size)
	}
	*b.directed = true
	if b.inserted+b.removed == 1 {
		p, err := e.shifted(1, w)
		if err == nil && b.inserted == 1 {
			p = p.Swap()
		}
		return p, err
	}
	// A substitution moves a sampled batch by two units at most, an exchange by one.
	shift := 2.0
	if b.exchange {
		shift = 1
	}
	half, err := e.shifted(shift, w)
	if err != nil {
		return nil, err
	}
	return pair.NewSymmetric(half)
}

func (e NormNoise) shifted(shift, rate float64) (pair.Pair, error) {
	p, err := pair.NewNorm(e.Zeta, e.Dim, shift, rate)
	if err != nil {
		return nil, fmt.Errorf("dp: %v: %w", e, err)
	}
	return p, nil
}

// Pair is the removal's for one record.
func (e FromPair) Pair(b Batch) (pair.Pair, error) {
	if e.Removal == nil {
		return nil, bad("FromPair: removal = nil: must be a pair")
	}
	return b.OneRecord(e, e.Removal)
}

// Pair is that of Approximate with δ = 0.
func (e Pure) Pair(b Batch) (pair.Pair, error) {
	if err := in.Epsilon(e.Epsilon); err != nil {
		return nil, err
	}
	return indistinguishable(e, b, e.Epsilon, 0)
}

// Pair dominates all mechanisms with the guarantee; see indistinguishable.
func (e Approximate) Pair(b Batch) (pair.Pair, error) {
	if err := in.Epsilon(e.Epsilon); err != nil {
		return nil, err
	}
	if err := in.Delta(e.Delta); err != nil {
		return nil, err
	}
	return indistinguishable(e, b, e.Epsilon, e.Delta)
}

// indistinguishable is the pair of mechanisms of which only (ε, δ) is known. All of the data: that of (dε, δ_d) at the distance d
// (Kairouz, Oh, Viswanath 2015), δ_d = δ·Σ_{k<d} e^(kε). A sample: with w_i and v_j the probabilities of i removed and j inserted
// records in the batches B_i of x and B′_j of x′, and A a batch without them,
//
//	B_i ≤ e^(iε)·A + δ_i,   A ≤ e^(jε)·B′_j + δ_j,
//
// up to masses δ_i, δ_j, so that with W = Σ w_i e^(iε) and V = Σ v_j e^(−jε)
//
//	M(x) ≤ (W/V)·M(x′) + Σ w_i δ_i + (W/V)·Σ v_j e^(−jε) δ_j,
//
// and the other way round.
func indistinguishable(m Mechanism, b Batch, eps, delta float64) (pair.Pair, error) {
	var there, back pair.Loss
	switch {
	case !b.Sampled():
		d := b.Distance()
		there = pair.Loss{Epsilon: eps * float64(d), Delta: groupDelta(eps, delta, d)}
		back = there
	case b.exchange && b.sampling.kind == without && b.removed == 1:
		// Advanced joint convexity: the batches differ with probability w, and then by one exchange.
		w := float64(b.sampling.batch) / float64(b.sampling.size)
		there = pair.Loss{Epsilon: math.Log1p(w * math.Expm1(eps)), Delta: w * delta}
		back = there
	case b.exchange:
		return nil, b.Refuse(m, "exchanges in a sample, but for one record without replacement; substitution bounds it")
	default:
		there, back = sampledLoss(b.Removed(), b.Inserted(), eps, delta), sampledLoss(b.Inserted(), b.Removed(), eps, delta)
	}
	if there.Delta >= 1 || back.Delta >= 1 {
		return nil, fmt.Errorf("dp: %v: at this distance δ is 1: %w", m, ErrUnbounded)
	}
	p, err := pair.Bounded(there, back)
	if err != nil {
		return nil, fmt.Errorf("dp: %v: %w", m, err)
	}
	return p, nil
}

// groupDelta is δ·Σ_{k<d} e^(kε), rounded up.
func groupDelta(eps, delta float64, d int) float64 {
	switch {
	case delta == 0 || d == 0:
		return 0
	case eps == 0:
		return delta * float64(d)
	}
	return delta * math.Expm1(eps*float64(d)) / math.Expm1(eps) * (1 + 1e-14)
}

// sampledLoss is the bound of indistinguishable in one direction; logW and logV are the logs of w and v.
func sampledLoss(logW, logV []float64, eps, delta float64) pair.Loss {
	out := pair.Loss{Epsilon: max(0, logMean(logW, eps)-logMean(logV, -eps)) * (1 + 1e-12)}
	if delta == 0 {
		return out
	}
	for i, l := range logW {
		out.Delta += math.Exp(l) * groupDelta(eps, delta, i)
	}
	for j, l := range logV {
		out.Delta += math.Exp(out.Epsilon+l-eps*float64(j)) * groupDelta(eps, delta, j)
	}
	out.Delta *= 1 + 1e-12
	return out
}

// logMean returns log Σ w_k e^(kε) for weights of sum one, with all digits where it is small.
func logMean(logW []float64, eps float64) float64 {
	sum, far := 0.0, logspace.Zero()
	for k, l := range logW {
		a := eps * float64(k)
		far.Add(l + a)
		if a < 1 {
			sum += math.Exp(l) * math.Expm1(a)
		} else {
			sum += math.Exp(l+a) - math.Exp(l)
		}
	}
	if sum > -0.5 && sum < 1e300 {
		return math.Log1p(sum)
	}
	return far.Log()
}

// Pair is known by its moments alone.
func (e ZCDP) Pair(b Batch) (pair.Pair, error) {
	if !(e.Rho >= 0) || math.IsInf(e.Rho, 0) {
		return nil, bad("rho = %v: must be at least 0 and finite", e.Rho)
	}
	if !b.Sampled() {
		d := float64(b.Distance())
		return pair.Concentrated(e.Rho * d * d)
	}
	if b.sampling.kind != poisson || b.total != 1 {
		return nil, b.Refuse(e, "a sample of a mechanism known by its moments, but a Poisson sample of which one record differs")
	}
	p, err := pair.Concentrated(e.Rho)
	if err != nil {
		return nil, err
	}
	return pair.SampledMoments(p, b.sampling.rate)
}
