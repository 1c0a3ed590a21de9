package dp

import (
	"fmt"

	"coupling/dp/pair"
)

// DiscreteLaplace adds to every value of a vector of integers noise P(k) ∝ e^(−|k|/Scale). One record moves the values by at most
// Sensitivity in all (L1), 1 if zero. Alone it costs exactly Sensitivity/Scale.
type DiscreteLaplace struct {
	Scale       float64
	Sensitivity int
}

// DiscreteGaussian adds to every value of a vector of integers noise P(k) ∝ e^(−k²/2Sigma²). One record moves at most Values of them (1 if
// zero), each by at most Sensitivity (1 if zero): a histogram in which each record has one cell, or a user at most Values.
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
	return fmt.Sprintf("DiscreteGaussian(sigma %g, sensitivity %d, values %d)", e.Sigma, max(1, e.Sensitivity), max(1, e.Values))
}

// Pair is exact: see pair.DiscreteLaplace.
func (e DiscreteLaplace) Pair(b Batch) (pair.Pair, error) {
	if e.Sensitivity < 0 {
		return nil, bad("sensitivity = %d: must be at least 0", e.Sensitivity)
	}
	return b.lattice(e, max(1, e.Sensitivity), func(step int, w, v []float64) (*pair.Discrete, error) {
		return pair.DiscreteLaplace(e.Scale, step, w, v)
	})
}

// Pair is exact: see pair.DiscreteGaussian.
func (e DiscreteGaussian) Pair(b Batch) (pair.Pair, error) {
	if e.Sensitivity < 0 || e.Values < 0 {
		return nil, bad("sensitivity = %d, values = %d: must be at least 0", e.Sensitivity, e.Values)
	}
	return b.lattice(e, max(1, e.Sensitivity), func(step int, w, v []float64) (*pair.Discrete, error) {
		return pair.DiscreteGaussian(e.Sigma, max(1, e.Values), step, w, v)
	})
}

// lattice returns the pair of noise on integers, which make builds for a step and the logs of the weights of removed and inserted records.
func (b Batch) lattice(m Mechanism, step int, build func(step int, logW, logV []float64) (*pair.Discrete, error)) (pair.Pair, error) {
	var p pair.Pair
	var err error
	switch {
	case !b.Sampled():
		p, err = build(step*b.Distance(), pair.Binomial(1, 1), pair.Binomial(0, 1))
	case !b.exchange:
		p, err = build(step, b.Removed(), b.Inserted())
	case b.sampling.kind == without && b.removed == 1:
		if p, err = build(step, pair.Binomial(1, float64(b.sampling.batch)/float64(b.sampling.size)), pair.Binomial(0, 1)); err == nil {
			p, err = pair.NewSymmetric(p)
		}
	default:
		return nil, b.Refuse(m, "exchanges in a sample, but for one record without replacement; substitution bounds it")
	}
	if err != nil {
		return nil, fmt.Errorf("dp: %v: %w", m, err)
	}
	return p, nil
}
