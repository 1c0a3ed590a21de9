package light

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/data/synth"
	"coupling/lab/must"
	"coupling/ot/gaussian"
	"coupling/score/scones"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

func seeded(k uint64) *rand.Rand { return rand.New(rand.NewPCG(k, 1)) }

// pair is a Gaussian problem with means, its plan at λ, and where to draw points.
func pair(rng *rand.Rand, d int, lambda float64) (*gaussian.Plan, scones.Source, scones.Source) {
	one := func() (gaussian.Normal, scones.Source) {
		m := make([]float64, d)
		for i := range m {
			m[i] = rng.NormFloat64()
		}
		p := gaussian.Normal{Mean: m, Cov: must.Get(synth.RandomCovariance(rng, d, .5, 3))}
		return p, p.Sample
	}
	p, x := one()
	q, y := one()
	return must.Get(gaussian.Entropic{Eps: lambda}.Solve(p, q)), x, y
}

// The gradient of LightSB's loss, by central differences.
func TestLightGradient(t *testing.T) {
	rng := seeded(5)
	x, y := must.Get(synth.Normal(rng, 7, 2)), must.Get(synth.Normal(rng, 9, 2))
	l := Fit{Lambda: 1.5, Components: 3}.first(x, y)
	w := l.pack()
	for i := range w {
		w[i] += .3 * rng.NormFloat64()
	}
	l.unpack(w)
	_, g, err := l.gradient(x, y)
	must.Do(err)
	for k := range w {
		const h = 1e-5
		at := func(d float64) float64 {
			v := append([]float64(nil), w...)
			v[k] += d
			l.unpack(v)
			loss, _, err := l.gradient(x, y)
			return must.Get(loss, err)
		}
		if want := (at(h) - at(-h)) / (2 * h); math.Abs(g[k]-want) > 1e-7*(1+math.Abs(want)) {
			t.Errorf("parameter %d: %g, difference quotient %g", k, g[k], want)
		}
	}
}

// What cannot be fitted is refused, and a fit never returns a plan that is not finite.
func TestLightRefuses(t *testing.T) {
	x := scones.Cloud(must.Get(synth.Normal(seeded(1), 50, 2)))
	far := func(rng *rand.Rand, n int) (*mat.Dense, error) {
		m, err := synth.Normal(rng, n, 2)
		m.Set(0, 0, math.NaN())
		return m, err
	}
	line := scones.Cloud(must.Get(synth.Normal(seeded(1), 50, 1)))
	for name, c := range map[string]struct {
		f Fit
		y scones.Source
	}{
		"lambda":    {Fit{}, x},
		"rate":      {Fit{Lambda: 1, Rate: math.Inf(1)}, x},
		"NaN":       {Fit{Lambda: 1, Steps: 5}, far},
		"dimension": {Fit{Lambda: 1}, line},
		"empty":     {Fit{Lambda: 1}, scones.Cloud(&mat.Dense{})},
	} {
		if _, err := c.f.Run(t.Context(), seeded(2), x, c.y); !errors.Is(err, scones.ErrParameter) &&
			!errors.Is(err, scones.ErrShape) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// One component is exact between Gaussians: fitted from samples, its plan is the closed form's up to some per mille.
func TestLightBetweenGaussians(t *testing.T) {
	plan, x, y := pair(seeded(6), 3, 4)
	l := must.Get(Fit{Lambda: 4, Steps: 1500}.Run(t.Context(), seeded(7), x, y))
	const n = 40000
	xs := must.Get(x(seeded(8), n))
	ys := l.Sample(seeded(9), xs)
	joint, cov := mat.NewDense(n, 6, nil), new(mat.SymDense)
	joint.Augment(xs, ys)
	stat.CovarianceMatrix(cov, joint, nil)
	if got := must.Get(gaussian.UVP(cov, plan.Joint().Cov)); got > .3 {
		t.Errorf("BW-UVP %.3f %%", got)
	}
	one := mat.NewDense(1, 3, []float64{1, 0, -1})
	want := plan.Conditional(one.RawRowView(0)).Mean
	got := l.Barycentric(one).RawRowView(0)
	for k := range want {
		if math.Abs(got[k]-want[k]) > .15 {
			t.Errorf("E[y|x] = %.3f, want %.3f", got, want)
		}
	}
}
