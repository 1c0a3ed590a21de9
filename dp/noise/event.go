package noise

import (
	"math"

	"coupling/dp"
	"coupling/dp/pair"
)

// Query is the sensitivity and the number of the values that noise is added to.
type Query struct {
	// Sensitivity is the most that inserting or removing one record moves the values as computed,
	// in their units: in L2 norm for Gaussian and Norm, in L1 norm for Laplace. For an event inside
	// dp.WithoutReplacement or dp.WithReplacement it is the most that exchanging one record of the
	// batch for another moves them: see the conventions of dp.
	Sensitivity float64
	// Dim is the number of values; 0 means 1.
	Dim int
	// OnGrid promises that the values already are multiples of the granularity (counts, sums of rounded
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

// steps returns the scale and the sensitivity, in steps of the grid; norm is l1 or l2. It refuses
// values on the grid that no record can move.
func (q Query) steps(name string, scale, granularity float64,
	norm func(Query, Grid) float64) (full Query, inSteps, shift float64, err error) {
	g, inSteps, err := gridFor(name, scale, granularity)
	if err == nil {
		q, err = q.check()
	}
	if err != nil {
		return q, 0, 0, err
	}
	if shift = norm(q, g); shift < 1 {
		err = bad("Sensitivity = %v: is less than a step of %v, so that values on the grid do not change",
			q.Sensitivity, g.Step)
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

// Event returns an event that dominates the mechanism on values of the query, for every δ, so that
// no accounting of it is too small. It is dp.Gaussian with the noise σ′/Δ′, where Δ′ is the
// sensitivity after rounding, in units of the step, and σ′ that of pair.ContinuousSigma, which has
// the proof.
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
	sigma, ok := pair.ContinuousSigma(s, q.Dim, shift)
	if !ok {
		ratio := shift / s
		if math.IsInf(ratio*ratio, 1) {
			return nil, bad("Sensitivity = %v: must be less than 1e150 times Sigma = %v", q.Sensitivity, m.Sigma)
		}
		return dp.ZCDP{Rho: ratio * ratio / 2 * (1 + rounding)}, nil
	}
	return dp.Gaussian{NoiseMultiplier: sigma / shift}, nil
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
