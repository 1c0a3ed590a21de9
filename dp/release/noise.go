package release

import "math"

// GridMargin is the relative amount by which the events of this package and its users understate
// the noise, to allow for rounding to the grid of package noise. A value of d coordinates moves by
// up to √d steps of the grid more than it did before, steps are at most 2⁻³⁰ of the noise, and the
// discrete law is dominated by a continuous one that is smaller by a relative 1e-16. Noise for
// which the margin does not suffice is refused.
const GridMargin = 1e-4

// checkGrid refuses noise that is not a standard deviation, and values that rounding to the grid
// moves by more than GridMargin.
func checkGrid(values int, sigma, sensitivity float64) error {
	if !(sigma >= 0) || math.IsInf(sigma, 0) {
		return bad("sigma = %g: must be at least 0 and finite", sigma)
	}
	if err := in.Positive("sensitivity", sensitivity); err != nil {
		return err
	}
	if moved := math.Sqrt(float64(values)) * sigma * 0x1p-30; moved > .9*GridMargin*sensitivity {
		return bad("%d values with noise %g times their sensitivity: rounding moves them by more than the accounting allows for", values, sigma/sensitivity)
	}
	return nil
}
