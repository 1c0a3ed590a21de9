package release

import (
	"errors"
	"math"
	"testing"

	"coupling/dp"
	"coupling/dp/noise"
)

// The margin covers what package noise itself says of the mechanism on the grid, for every number of values that is let through.
func TestGridMargin(t *testing.T) {
	for _, d := range []int{1, 100, 40_000, 1_000_000} {
		for _, sigma := range []float64{.1, 1, 10, 80, 1000} {
			e, err := (noise.Gaussian{Sigma: sigma}).Event(noise.Query{Sensitivity: 1, Dim: d})
			if err != nil {
				t.Fatal(err)
			}
			_, err = AddNoise(SeededKey(1).Source("x", 0), make([]float64, d)[:min(d, 1)], sigma, 1)
			if math.Sqrt(float64(d))*sigma > .9*GridMargin*(1<<30) {
				if _, err := AddNoise(nil, make([]float64, d), sigma, 1); !errors.Is(err, dp.ErrParameter) {
					t.Errorf("d = %d, σ = %g: %v", d, sigma, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if g, ok := e.(dp.Gaussian); !ok || g.Noise < sigma*(1-GridMargin) {
				t.Errorf("d = %d, σ = %g: the event is %v", d, sigma, e)
			}
		}
	}
}

// A sensitivity that is none is refused: it would pass every comparison.
func TestSensitivityIsChecked(t *testing.T) {
	for _, s := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := AddNoise(SeededKey(1).Source("x", 0), []float64{1}, 1, s); !errors.Is(err, dp.ErrParameter) {
			t.Errorf("sensitivity %g: %v", s, err)
		}
		if _, err := SeededKey(1).Noisy([32]byte{}, []float64{1}, 1, s); !errors.Is(err, dp.ErrParameter) {
			t.Errorf("sensitivity %g: %v", s, err)
		}
	}
}
