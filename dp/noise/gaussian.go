package noise

import (
	"math"
	"math/big"
)

// Gaussian adds discrete Gaussian noise on a grid: P(k steps) ∝ e^(−k²/2s²), s = Sigma/Granularity.
type Gaussian struct {
	// Sigma is the standard deviation of the continuous law that it stands for, in the units of the values, in
	// [2^-900, 2^900]. That of the discrete law is not larger, and the same up to e^(−2π²s²).
	Sigma float64
	// Granularity is the step of the grid, a power of two from 2^-40 to 2^10 times Sigma; 0 takes the largest one of at
	// most 2^-30 Sigma.
	Granularity float64
}

// Grid returns the grid of the releases.
func (m Gaussian) Grid() (Grid, error) {
	g, _, err := gridFor("Sigma", m.Sigma, m.Granularity)
	return g, err
}

// Add rounds values to the grid (Grid.Round) and adds independent noise to each. It returns new values, on the grid,
// or an error and nothing: parameters out of range, values that are not finite, or a source that fails. Cost: some 10
// random words and four exponentials a value, or two words of each of many values.
func (m Gaussian) Add(src Source, values []float64) ([]float64, error) {
	g, s, err := gridFor("Sigma", m.Sigma, m.Granularity)
	if err != nil {
		return nil, err
	}
	draw := func() (int64, error) { return gaussianSteps(src, s) }
	if s >= leastEnvelope && s < mostEnvelope && len(values) >= strips {
		e := envelopeOf(s)
		draw = func() (int64, error) { return e.draw(src) }
	}
	return release(src, g, values, draw)
}

// gaussianSteps draws an integer with probability ∝ e^(−k²/2s²), cut off at ±endless (CKS,
// Algorithm 3): a discrete Laplace number y of scale t = ⌊s⌋ + 1 is kept with probability e^-x, x =
// (|y| − s²/t)²/2s².
func gaussianSteps(src Source, s float64) (int64, error) {
	t := uint64(s) + 1
	for range maxRejections {
		y, err := laplaceSteps(src, t, 0)
		if err != nil {
			return 0, err
		}
		keep, err := expCoin(src, excess(y, s, t), func() *big.Rat { return exactExcess(y, s, t) })
		if err != nil {
			return 0, err
		}
		if keep {
			return y, nil
		}
	}
	return 0, tooManyRejections()
}

// excess is the x of gaussianSteps. With c = s²/t < s, the difference is off by at most 2^-51(|d| + 2c), hence
// e^-x by 2^-51·(2x + 2√(2x))e^-x < 2^-48.
func excess(y int64, s float64, t uint64) float64 {
	d := math.Abs(float64(y)) - s*s/float64(t)
	return d * d / (2 * s * s)
}

// exactExcess is excess as a fraction.
func exactExcess(y int64, s float64, t uint64) *big.Rat {
	variance := new(big.Rat).SetFloat64(s)
	variance.Mul(variance, variance)
	d := new(big.Rat).Quo(variance, new(big.Rat).SetUint64(t))
	d.Sub(new(big.Rat).SetInt64(max(y, -y)), d)
	d.Mul(d, d).Quo(d, variance)
	return d.Mul(d, big.NewRat(1, 2))
}
