package dp

import (
	"fmt"

	"coupling/dp/pair"
)

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
	return fmt.Sprintf("DiscreteGaussian(sigma %g, sensitivity %d, values %d)", e.Sigma, max(1, e.Sensitivity), max(1, e.Values))
}

// Pair is exact: see pair.DiscreteLaplace.
func (e DiscreteLaplace) Pair(b Batch) (pair.Pair, error) {
	if e.Sensitivity < 0 {
		return nil, bad("sensitivity = %d: must be at least 0", e.Sensitivity)
	}
	return b.Of(e, func(w, v []float64) (pair.Pair, error) {
		return pair.DiscreteLaplace(e.Scale, max(1, e.Sensitivity), w, v)
	})
}

// Pair is exact: see pair.DiscreteGaussian.
func (e DiscreteGaussian) Pair(b Batch) (pair.Pair, error) {
	if e.Sensitivity < 0 || e.Values < 0 {
		return nil, bad("sensitivity = %d, values = %d: must be at least 0", e.Sensitivity, e.Values)
	}
	return b.Of(e, func(w, v []float64) (pair.Pair, error) {
		return pair.DiscreteGaussian(e.Sigma, max(1, e.Values), max(1, e.Sensitivity), w, v)
	})
}
