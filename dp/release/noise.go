package release

import (
	"math"

	"coupling/dp/noise"
)

// GridMargin is by how much, relatively, the events of this package and those below it take noise for smaller than it is: for
// what rounding to the grid of package noise does. A value of d coordinates moves by up to √d steps of the grid more than it
// did before, steps are at most 2⁻³⁰ of the noise, and the discrete law is dominated by a continuous one that is smaller by a
// relative 1e-16. AddNoise refuses what is not within the margin.
const GridMargin = 1e-4

// AddNoise adds noise of standard deviation sigma to values of which one record moves sensitivity at most in L2 norm: the
// Gaussian mechanism of multiplier sigma/sensitivity·(1−GridMargin) or a better one. It returns new values.
func AddNoise(src noise.Source, values []float64, sigma, sensitivity float64) ([]float64, error) {
	if err := checkGrid(len(values), sigma, sensitivity); err != nil {
		return nil, err
	}
	return noise.Gaussian{Sigma: sigma}.Add(src, values)
}

// checkGrid refuses what rounding to the grid moves by more than GridMargin.
func checkGrid(values int, sigma, sensitivity float64) error {
	if !(sensitivity > 0) || math.IsInf(sensitivity, 0) {
		return bad("sensitivity = %g: must be positive and finite", sensitivity)
	}
	if moved := math.Sqrt(float64(values)) * sigma * 0x1p-30; moved > .9*GridMargin*sensitivity {
		return bad("%d values with noise %g times their sensitivity: rounding moves them by more than the accounting allows for", values, sigma/sensitivity)
	}
	return nil
}
