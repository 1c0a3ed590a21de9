package release

import (
	"errors"
	"math"
	"testing"

	"coupling/dp"
	"coupling/dp/noise"
	"coupling/lab/must"
)

// The margin covers what package noise itself says of the mechanism on the grid, for every number
// of values that is let through.
func TestGridMargin(t *testing.T) {
	for _, d := range []int{1, 100, 40_000, 1_000_000} {
		for _, sigma := range []float64{.1, 1, 10, 80, 1000} {
			e := must.Get((noise.Gaussian{Sigma: sigma}).Event(noise.Query{Sensitivity: 1, Dim: d}))
			err := checkGrid(d, sigma, 1)
			if math.Sqrt(float64(d))*sigma > .9*GridMargin*(1<<30) {
				if !errors.Is(err, dp.ErrParameter) {
					t.Errorf("d = %d, σ = %g: %v", d, sigma, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if g, ok := e.(dp.Gaussian); !ok || g.NoiseMultiplier < sigma*(1-GridMargin) {
				t.Errorf("d = %d, σ = %g: the event is %v", d, sigma, e)
			}
		}
	}
}

// A sensitivity or a noise that is none is refused, before anything is spent: it would pass every comparison.
func TestReleaseIsChecked(t *testing.T) {
	for _, c := range [][2]float64{{1, 0}, {1, -1}, {1, math.NaN()}, {1, math.Inf(1)}, {-1, 1}, {math.NaN(), 1},
		{math.Inf(1), 1}} {
		r := Run{Key: SeededKey(1), Releases: 1}
		if _, err := r.Release("x", 0, []float64{1}, c[0], c[1]); !errors.Is(err, dp.ErrParameter) || r.spent != 0 {
			t.Errorf("noise %g at sensitivity %g: %v", c[0], c[1], err)
		}
		if _, err := SeededKey(1).Noisy([32]byte{}, []float64{1}, c[0], c[1]); !errors.Is(err, dp.ErrParameter) {
			t.Errorf("noise %g at sensitivity %g: %v", c[0], c[1], err)
		}
	}
}
