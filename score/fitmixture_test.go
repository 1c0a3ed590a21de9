package score

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/must"
)

// Two clusters along a line in R³ with thin noise across: weights, means and variances come out,
// and the field agrees with the mixture they were drawn from.
func TestFitMixture(t *testing.T) {
	rng := seeded(1)
	const n, across = 4000, .05
	axis := []float64{.6, .8, 0}
	y, parts := mat.NewDense(n, 3, nil), []*Gaussian{}
	for i := range n {
		at, sd := 2., .5
		if i%4 == 0 {
			at, sd = -2, .3
		}
		v := at + sd*rng.NormFloat64()
		for j := range 3 {
			y.Set(i, j, 1+v*axis[j]+across*rng.NormFloat64())
		}
	}
	for _, p := range []struct{ at, sd float64 }{{2, .5}, {-2, .3}} {
		mean, cov := make([]float64, 3), mat.NewSymDense(3, nil)
		for a := range 3 {
			mean[a] = 1 + p.at*axis[a]
			for b := range a + 1 {
				cov.SetSym(a, b, p.sd*p.sd*axis[a]*axis[b])
			}
			cov.SetSym(a, a, cov.At(a, a)+across*across)
		}
		parts = append(parts, must.Get(NewGaussian(mean, cov)))
	}
	truth := must.Get(NewMixture([]float64{.75, .25}, parts...))
	previous := math.Inf(-1)
	got := must.Get(FitMixture{Parts: 2, Axes: 1, Steps: 20, Shrink: 1e-9, Trace: func(_ int, l float64) {
		if l < previous-1e-9 {
			t.Errorf("the likelihood falls from %g to %g", previous, l)
		}
		previous = l
	}}.Run(t.Context(), rng, y))
	for _, sigma := range []float64{0, .3, 2} {
		a, b := mat.NewDense(n, 3, nil), mat.NewDense(n, 3, nil)
		p, q := make([]float64, n), make([]float64, n)
		must.Do(errors.Join(got.Score(a, y, sigma), truth.Score(b, y, sigma), got.LogDensity(p, y, sigma),
			truth.LogDensity(q, y, sigma)))
		mean := 0.
		for i := range p {
			mean += (p[i] - q[i]) / n
		}
		size := mat.Norm(b, 2)
		a.Sub(a, b)
		// Parameters of 1000 points are within some per cent; a wrong axis, weight or variance is off by far more.
		if off := mat.Norm(a, 2) / size; off > .06 || math.Abs(mean) > .01 {
			t.Errorf("sigma = %g: the score is off by %.3f, the log-density by %.4f", sigma, off, mean)
		}
	}
}

func TestFitMixtureRefusals(t *testing.T) {
	for name, f := range map[string]FitMixture{"parts": {Parts: 201}, "axes": {Axes: 5},
		"shrink": {Shrink: math.NaN()}} {
		if _, err := f.Run(t.Context(), seeded(2), mat.NewDense(200, 4, nil)); !errors.Is(err, ErrParameter) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
