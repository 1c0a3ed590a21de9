package noise

import (
	"math"

	"coupling/dp"
	"coupling/lab/logspace"
)

// Query is what is known about the values that noise is added to.
type Query struct {
	// Sensitivity is the most that inserting or removing one record moves the values as computed,
	// in their units: in L2 norm for Gaussian and Norm, in L1 norm for Laplace. For an event inside
	// dp.WithoutReplacement or dp.WithReplacement it is the most that exchanging one record of the
	// batch for another moves them: see the conventions of dp.
	Sensitivity float64
	// Dim is the number of values; 0 means 1.
	Dim int
	// OnGrid says that the values already are multiples of the granularity (counts, sums of rounded
	// values), so that rounding does not move them apart.
	OnGrid bool
}

func (q Query) check() (Query, error) {
	if err := in.Positive("Sensitivity", q.Sensitivity); err != nil {
		return q, err
	}
	if q.Dim < 0 {
		return q, bad("Dim = %d: must be at least 0", q.Dim)
	}
	q.Dim = max(q.Dim, 1)
	return q, nil
}

// l2 bounds the L2 norm, in steps, by which neighbours differ after rounding: coordinates x_i apart are at most
// ⌈x_i⌉ < x_i + 1 apart.
func (q Query) l2(g Grid) float64 {
	x := q.Sensitivity / g.Step
	switch {
	case q.Dim == 1 && q.OnGrid:
		return math.Floor(x)
	case q.Dim == 1:
		return math.Ceil(x)
	case q.OnGrid:
		return x
	}
	return x + math.Sqrt(float64(q.Dim))*(1+1e-15)
}

// l1 bounds the L1 norm in steps, an integer: Σ⌈x_i⌉ < Σ x_i + d.
func (q Query) l1(g Grid) float64 {
	x := q.Sensitivity / g.Step
	if q.OnGrid {
		return math.Floor(x)
	}
	return math.Ceil(x) + float64(q.Dim-1)
}

// steps returns the scale and the sensitivity, in steps of the grid; norm is l1 or l2. It refuses values on the grid that no record can move.
func (q Query) steps(name string, scale, granularity float64, norm func(Query, Grid) float64) (full Query, inSteps, shift float64, err error) {
	g, inSteps, err := gridFor(name, scale, granularity)
	if err == nil {
		q, err = q.check()
	}
	if err != nil {
		return q, 0, 0, err
	}
	if shift = norm(q, g); shift < 1 {
		err = bad("Sensitivity = %v: is less than a step of %v, so that values on the grid do not change", q.Sensitivity, g.Step)
	}
	return q, inSteps, shift, err
}

const (
	// fine is the scale in steps from which a grid has the event of its continuous law.
	fine = 64
	// maxShift bounds the size of exact pairs.
	maxShift = 1 << 14
	// rounding bounds the relative error of an event's arithmetic.
	rounding = 1e-14
)

// Event returns an event that dominates the mechanism on values of the query, for every δ, so that no accounting of it is
// too small. It is dp.Gaussian with the noise σ′/Δ′, where Δ′ is the sensitivity after rounding and, in units of the
// step,
//
//	σ′² = σ² − r²,   2π²r² = log 4.001d + 60 + Δ′²/4σ².
//
// Proof. Let h(x) ∝ φ_σ′(x)·Z(x) on the reals, Z(x) = Σ_k e^(−(k−x)²/2r²), and draw an integer k from x with probability
// e^(−(k−x)²/2r²)/Z(x). Then k has exactly the discrete Gaussian law of σ, and because Z has period 1 the same kernel
// takes h(· − v) to the law shifted by v, for every integer v. So the mechanism is h(· − v) after processing. Z varies
// by a factor e^a at most, a ≤ 4.001·e^(−2π²r²) (Poisson summation), over d coordinates e^(da), hence
//
//	δ(ε) ≤ e^(da) δ_μ(ε),   μ = Δ′/σ′,   ε ≥ 0,
//
// with δ_μ the profile of the continuous Gaussian. From ∂δ_μ/∂μ = φ(ε/μ − μ/2) follows ∂log δ_μ/∂log μ ≥
// e^(−μ²/8), so that a μ larger by the factor 1 + 2da·e^(μ²/8) < 1 + 1e-25 makes up for e^(da). ∎
//
// Poisson sampling and composition preserve this for one record. For groups and for batches of fixed size with sampling the
// same proof gives the mixture's δ times e^(da) for each step, less than 1 + 1e-26, which lies below the rounding of all
// accountants.
//
// Coarser grids than Sigma/64 have dp.DiscreteGaussian, which is exact, for one value, and for
// several values on the grid where one record moves one value by one step (a Sensitivity below √2
// steps: a histogram). Where r² > σ²/2, for several values on grids of some Sigma/3, the event is
// dp.ZCDP with ρ = Δ′²/2σ² (CKS), the only known bound. Errors: parameters out of range.
func (m Gaussian) Event(q Query) (dp.Event, error) {
	q, s, shift, err := q.steps("Sigma", m.Sigma, m.Granularity, Query.l2)
	if err != nil {
		return nil, err
	}
	if oneStep := q.OnGrid && shift < math.Sqrt2; s < fine && shift < maxShift && (q.Dim == 1 || oneStep) {
		return dp.DiscreteGaussian{Sigma: s, Sensitivity: int(shift)}, nil
	}
	ratio := shift / s
	r2 := (logspace.Log(4.001*float64(q.Dim)) + 60 + ratio*ratio/4) / (2 * math.Pi * math.Pi)
	if !(r2 <= s*s/2) {
		if math.IsInf(ratio*ratio, 1) {
			return nil, bad("Sensitivity = %v: must be less than 1e150 times Sigma = %v", q.Sensitivity, m.Sigma)
		}
		return dp.ZCDP{Rho: ratio * ratio / 2 * (1 + rounding)}, nil
	}
	return dp.Gaussian{NoiseMultiplier: math.Sqrt(s*s-r2) / shift * (1 - rounding)}, nil
}

// Event returns an event that dominates the mechanism on values of the query, for every δ. It is dp.Laplace with scale
// 1/μ,
//
//	μ = Δ′/b + min(d, Δ′)·2 log cosh(1/2b),
//
// where b is the scale and Δ′ the L1 sensitivity after rounding, in steps: a shift by s steps has, for 0 ≤ ε ≤ s/b,
//
//	δ(ε) = max_τ 1 − (ρ^(τ+1) + e^ε ρ^(s−τ))/(1+ρ) ≤ 1 − e^((ε−s/b)/2)/cosh(1/2b),   ρ = e^(−1/b),
//
// by the inequality of the means, which is the profile of continuous Laplace noise at the shift s/b + 2 log cosh(1/2b);
// each coordinate that moves adds such a term. At the default granularity it is of the order 1e-19.
//
// Grids coarser than Scale/64 have dp.DiscreteLaplace, which is exact, instead.
func (m Laplace) Event(q Query) (dp.Event, error) {
	q, b, shift, err := q.steps("Scale", m.Scale, m.Granularity, Query.l1)
	if err != nil {
		return nil, err
	}
	if b < fine && shift < maxShift {
		return dp.DiscreteLaplace{Scale: b, Sensitivity: int(shift)}, nil
	}
	half := math.Sinh(1 / (4 * b))
	extra := 2 * math.Log1p(2*half*half)
	mu := shift/b + min(float64(q.Dim), shift)*extra
	return dp.Laplace{Scale: 1 / mu * (1 - rounding)}, nil
}
