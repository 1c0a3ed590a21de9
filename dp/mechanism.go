package dp

import (
	"fmt"

	"coupling/dp/internal/check"
	"coupling/dp/pair"
)

// Gaussian adds normal noise to a vector. NoiseMultiplier is its standard deviation in units of the
// L2 sensitivity, 0 for none: see Conventions for the change that the sensitivity refers to.
type Gaussian struct{ NoiseMultiplier float64 }

// Laplace adds Laplace noise of scale Scale, in units of the L1 sensitivity, to every coordinate; 0 adds none.
type Laplace struct{ Scale float64 }

// RandomizedResponse reports a bit truthfully with probability Truth in [1/2, 1], else its
// opposite.
type RandomizedResponse struct{ Truth float64 }

// NormNoise adds noise with density ∝ exp(−Zeta·‖v‖₂) to a vector of dimension Dim and L2
// sensitivity 1.
type NormNoise struct {
	Zeta float64
	Dim  int
}

// FromPair is any mechanism with a known dominating pair: Removal dominates the removal of one
// record, its swap the insertion; in batches of fixed size and under Exchange it dominates the
// exchange of one record for any other. Larger groups are refused.
type FromPair struct{ Removal pair.Pair }

// Pure is any ε-differentially private mechanism, such as the exponential mechanism or the noisy
// maximum. Each record that differs costs Epsilon.
type Pure struct{ Epsilon float64 }

// Approximate is any (ε, δ)-differentially private mechanism. k records that differ cost kε and
// δ·(1 + e^ε + … + e^((k−1)ε)).
type Approximate struct{ Epsilon, Delta float64 }

// ZCDP is any ρ-zero-concentrated differentially private mechanism: its Rényi divergences are at
// most Rho·α in both directions (Bun, Steinke 2016). k records that differ cost k²ρ. Only its
// moments are known, so a composition with it is accounted for by Rényi divergences (package rdp).
// A Poisson sample of it has the bound of Zhu and Wang (2019) for one record.
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
	if err := in.NotNegative("noise multiplier", e.NoiseMultiplier); err != nil {
		return nil, err
	}
	return b.Additive(e, pair.Gaussian, e.NoiseMultiplier)
}

// Pair returns a dominating pair.
func (e Laplace) Pair(b Batch) (pair.Pair, error) {
	if err := in.NotNegative("scale", e.Scale); err != nil {
		return nil, err
	}
	return b.Additive(e, pair.Laplace, e.Scale)
}

// Pair is SSKG M.2: the special records either all flip the bit or leave it. With records on both
// sides the pair must cover, at each step, the worse of the two.
func (e RandomizedResponse) Pair(b Batch) (pair.Pair, error) {
	removed, inserted := 1.0, 0.0
	if b.Sampled() {
		removed, inserted = b.Hit()
	}
	p, err := pair.ResponseEither(e.Truth, removed, inserted)
	return named(e, p, err)
}

// Pair is a plain shift of any length, or one sampled record (advanced joint convexity).
func (e NormNoise) Pair(b Batch) (pair.Pair, error) {
	if err := in.Positive("zeta", e.Zeta); err != nil {
		return nil, err
	}
	if e.Dim == 1 {
		return b.Additive(e, pair.Laplace, 1/e.Zeta)
	}
	at := func(distance float64) (pair.Pair, error) { return pair.NewNorm(e.Zeta, e.Dim, distance, 1) }
	one, err := at(1)
	switch k := b.sampling.kind; {
	case err != nil:
	case !b.Sampled():
		one, err = at(float64(b.Distance()))
	case b.total == 1 || b.exchange:
		return b.OneRecord(e, one)
	case k == with || b.inserted > 1 || b.removed > 1:
		return nil, b.Refuse(e, "norm noise on a sample in which more than one record may differ")
	default: // a substitution moves a sampled batch by two units at most
		*b.directed = true
		if one, err = at(2); err == nil {
			one, err = pair.Sampled(one, b.hit(1, b.x))
		}
		if err == nil {
			one, err = pair.NewSymmetric(one)
		}
	}
	return named(e, one, err)
}

// Pair returns Removal, for one record.
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
	if err := check.All(in.Epsilon(e.Epsilon), in.Delta(e.Delta)); err != nil {
		return nil, err
	}
	return indistinguishable(e, b, e.Epsilon, e.Delta)
}

// indistinguishable is pair.Indistinguishable for the records of a batch.
func indistinguishable(m Mechanism, b Batch, eps, delta float64) (pair.Pair, error) {
	return b.Symmetric(m,
		func(logW, logV []float64) (pair.Pair, error) { return pair.Indistinguishable(eps, delta, logW, logV) })
}

// Pair returns a pair known by its moments alone.
func (e ZCDP) Pair(b Batch) (pair.Pair, error) {
	p, err := pair.Concentrated(e.Rho)
	switch d := float64(b.Distance()); {
	case err != nil:
		return named(e, nil, err)
	case !b.Sampled():
		return pair.Concentrated(e.Rho * d * d)
	case b.sampling.kind != poisson || b.total != 1:
		return nil, b.Refuse(e,
			"a sample of a mechanism known by its moments, but a Poisson sample of which one record differs")
	}
	return pair.SampledMoments(p, b.sampling.rate)
}

// DiscreteLaplace adds noise with P(k) ∝ e^(−|k|/Scale) to every value of a vector of integers. One
// record moves the values by at most Sensitivity in all (L1), 1 if zero. Alone it costs exactly
// Sensitivity/Scale.
type DiscreteLaplace struct {
	Scale       float64
	Sensitivity int
}

// DiscreteGaussian adds noise with P(k) ∝ e^(−k²/2Sigma²) to every value of a vector of integers.
// One record moves at most Values of them (1 if zero), each by at most Sensitivity (1 if zero): a
// histogram in which each record has one cell, or a user at most Values.
type DiscreteGaussian struct {
	Sigma       float64
	Sensitivity int
	Values      int
}

// String shows the event.
func (e DiscreteLaplace) String() string {
	return fmt.Sprintf("DiscreteLaplace(scale %g, sensitivity %d)", e.Scale, max(1, e.Sensitivity))
}

// String shows the event.
func (e DiscreteGaussian) String() string {
	return fmt.Sprintf("DiscreteGaussian(sigma %g, sensitivity %d, values %d)", e.Sigma, max(1, e.Sensitivity),
		max(1, e.Values))
}

// Pair is exact: see pair.DiscreteLaplace.
func (e DiscreteLaplace) Pair(b Batch) (pair.Pair, error) {
	if e.Sensitivity < 0 {
		return nil, bad("sensitivity = %d: must be at least 0", e.Sensitivity)
	}
	return b.Symmetric(e, func(w, v []float64) (pair.Pair, error) {
		if e.Scale == 0 {
			return pair.Bare(w, v)
		}
		return pair.DiscreteLaplace(e.Scale, max(1, e.Sensitivity), w, v)
	})
}

// Pair is exact for Sigma < 64, and from there that of continuous noise: see pair.DiscreteGaussian.
func (e DiscreteGaussian) Pair(b Batch) (pair.Pair, error) {
	if e.Sensitivity < 0 || e.Values < 0 {
		return nil, bad("sensitivity = %d, values = %d: must be at least 0", e.Sensitivity, e.Values)
	}
	return b.Symmetric(e, func(w, v []float64) (pair.Pair, error) {
		if e.Sigma == 0 {
			return pair.Bare(w, v)
		}
		return pair.DiscreteGaussian(e.Sigma, max(1, e.Values), max(1, e.Sensitivity), w, v)
	})
}
