package score

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	_ "coupling/lab/draws"
	"coupling/lab/must"
)

func seeded(k uint64) *rand.Rand { return rand.New(rand.NewPCG(k, k)) }

// onLine is N(mean, variance).
func onLine(mean, variance float64) *Gaussian {
	return must.Get(NewGaussian([]float64{mean}, mat.NewSymDense(1, []float64{variance})))
}

func normals(rng *rand.Rand, n, d int) *mat.Dense {
	x := mat.NewDense(n, d, nil)
	for i := range n {
		for j := range d {
			x.Set(i, j, rng.NormFloat64())
		}
	}
	return x
}

// covariance draws G·Gᵀ/d + floor·I.
func covariance(rng *rand.Rand, d int, floor float64) *mat.SymDense {
	g := normals(rng, d, d)
	s := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i + 1 {
			s.SetSym(i, j, mat.Dot(g.RowView(i), g.RowView(j))/float64(d))
		}
		s.SetSym(i, i, s.At(i, i)+floor)
	}
	return s
}

func randomFields(rng *rand.Rand, d int) map[string]Density {
	a := must.Get(NewGaussian(normals(rng, 1, d).RawRowView(0), covariance(rng, d, .2)))
	b := must.Get(NewGaussian(nil, covariance(rng, d, .5)))
	return map[string]Density{
		"gaussian":  a,
		"mixture":   must.Get(NewMixture([]float64{1, 3}, a, b)),
		"empirical": must.Get(NewEmpirical(normals(rng, 5, d), []float64{1, 2, 3, 4, 0}, .7)),
		"fitted": must.Get(FitMixture{Parts: 2, Axes: (d + 1) / 2}.Run(context.Background(), rng,
			normals(rng, 60, d))),
	}
}

// Scores are the gradients of log densities: central differences, whose error at h = 1e-4 is some 1e-8.
func TestScoresAreGradients(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := seeded(rapid.Uint64().Draw(t, "seed"))
		d := rapid.IntRange(1, 12).Draw(t, "d")
		sigma := rapid.SampledFrom([]float64{0, .3, 5}).Draw(t, "sigma")
		x := normals(rng, 3, d)
		for name, f := range randomFields(rng, d) {
			s := mat.NewDense(3, d, nil)
			if err := f.Score(s, x, sigma); err != nil {
				t.Fatal(name, err)
			}
			const h = 1e-4
			up, down := make([]float64, 3), make([]float64, 3)
			for j := range d {
				for _, side := range []struct {
					to []float64
					h  float64
				}{{up, h}, {down, -h}} {
					y := mat.DenseCopyOf(x)
					for i := range 3 {
						y.Set(i, j, y.At(i, j)+side.h)
					}
					if err := f.LogDensity(side.to, y, sigma); err != nil {
						t.Fatal(name, err)
					}
				}
				for i := range 3 {
					want := (up[i] - down[i]) / (2 * h)
					if got := s.At(i, j); math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
						t.Fatalf("%s, d = %d, sigma = %g: score %g, difference quotient %g", name, d, sigma, got, want)
					}
				}
			}
		}
	})
}

// Smoothing adds σ² to the variances: the same density by two fields.
func TestEmpiricalIsAMixture(t *testing.T) {
	rng := seeded(1)
	for _, d := range []int{2, 11} {
		y, w := normals(rng, 4, d), []float64{1, 2, 3, 4}
		var parts []*Gaussian
		for j := range 4 {
			c := mat.NewSymDense(d, nil)
			for k := range d {
				c.SetSym(k, k, .25)
			}
			parts = append(parts, must.Get(NewGaussian(y.RawRowView(j), c)))
		}
		a, b := must.Get(NewEmpirical(y, w, .3)), must.Get(NewMixture(w, parts...))
		x := normals(rng, 40, d)
		la, lb := make([]float64, 40), make([]float64, 40)
		must.Do(errors.Join(a.LogDensity(la, x, .4), b.LogDensity(lb, x, 0)))
		for i := range la {
			if math.Abs(la[i]-lb[i]) > 1e-11*(1+math.Abs(lb[i])) { // some 100 roundings
				t.Errorf("d = %d: log densities %g and %g", d, la[i], lb[i])
			}
		}
	}
}

// bare hides the density of a field.
type bare struct{ Field }

// The integral of the score is the difference of log densities: exact for Gaussians, close for mixtures on short ways.
func TestLogRatio(t *testing.T) {
	rng := seeded(3)
	x := normals(rng, 20, 3)
	y := mat.DenseCopyOf(x)
	y.Apply(func(_, _ int, v float64) float64 { return v + .3*rng.NormFloat64() }, y)
	for name, f := range randomFields(rng, 3) {
		a, b := make([]float64, 20), make([]float64, 20)
		must.Do(errors.Join(LogRatio(a, f, x, y, .5), LogRatio(b, bare{f}, x, y, .5)))
		tol := 1e-4 // five nodes on a smooth function over some .5 of its scale
		if name == "gaussian" {
			tol = 1e-12
		}
		for i := range a {
			if math.Abs(a[i]-b[i]) > tol {
				t.Errorf("%s: %g from densities, %g from scores", name, a[i], b[i])
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	one := mat.NewSymDense(1, []float64{1})
	g := must.Get(NewGaussian(nil, one))
	x := mat.NewDense(2, 1, nil)
	nan := mat.NewDense(1, 1, []float64{math.NaN()})
	for name, err := range map[string]error{
		"negative variance": must.Err(NewGaussian(nil, mat.NewSymDense(1, []float64{-1}))),
		"nan":               must.Err(NewGaussian(nil, mat.NewSymDense(1, []float64{math.NaN()}))),
		"mean":              must.Err(NewGaussian([]float64{1, 2}, one)),
		"infinite mean":     must.Err(NewGaussian([]float64{math.Inf(1)}, one)),
		"weights":           must.Err(NewMixture([]float64{-1}, g)),
		"no parts":          must.Err(NewMixture(nil)),
		"points":            must.Err(NewEmpirical(nan, nil, 1)),
		"bandwidth":         must.Err(NewEmpirical(x, nil, -1)),
		"sigma":             g.Score(x, x, -1),
		"dst":               g.Score(mat.NewDense(1, 1, nil), x, 0),
		"no bandwidth":      must.Get(NewEmpirical(x, nil, 0)).Score(x, x, 0),
		"underflow":         must.Get(NewEmpirical(x, nil, 1e-170)).Score(x, x, 0),
		"tiny":              must.Get(NewGaussian(nil, mat.NewSymDense(1, nil))).Score(x, x, 1e-170),
		"step":              Langevin{Steps: 1}.Run(t.Context(), g, &Chain{X: x}),
		"levels rise":       Langevin{Step: 1, Steps: 1, Levels: []float64{1, 2}}.Run(t.Context(), g, &Chain{X: x}),
		"start":             Langevin{Step: 1, Steps: 1}.Run(t.Context(), g, &Chain{X: nan}),
		"geometric":         must.Err(Geometric(1, 2, 3)),
	} {
		if !errors.Is(err, ErrParameter) && !errors.Is(err, ErrShape) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Where every square overflows or no exponential is left, the nearest point is all that is seen;
// ties are shared by weight.
func TestEmpiricalFarAway(t *testing.T) {
	points := mat.NewDense(3, 2, []float64{0, 0, 1, 0, 0, 1})
	for _, d := range []int{2, 12} { // both ways to distances
		y := mat.NewDense(3, d, nil)
		for i := range 3 {
			y.Set(i, 0, points.At(i, 0))
			y.Set(i, 1, points.At(i, 1))
		}
		e := must.Get(NewEmpirical(y, []float64{1, 2, 6}, 1))
		x, s := mat.NewDense(3, d, nil), mat.NewDense(3, d, nil)
		x.Set(0, 0, 1e200) // nearest: the second
		// the first and the third are as far to all digits, the first by less than one
		x.Set(1, 0, -1e200)
		x.SetRow(2, append([]float64{.4, .1}, make([]float64, d-2)...)) // near all
		must.Do(e.Score(s, x, 0))
		if a, b := s.At(0, 0), s.At(1, 0); a != -1e200 || b != 1e200 {
			t.Errorf("d = %d: scores %g and %g", d, a, b)
		}
		sharp := must.Get(NewEmpirical(y, nil, 1e-140))
		must.Do(sharp.Score(s, x, 0))
		// The nearest point of (.4, .1) is the origin.
		if got := s.At(2, 0) * 1e-280; math.Abs(got+.4) > 1e-12 {
			t.Errorf("d = %d: goes by %g, want -0.4", d, got)
		}
	}
}

func TestDensityRefusals(t *testing.T) {
	rng := seeded(1)
	x := normals(rng, 3, 2)
	for name, f := range randomFields(rng, 2) {
		for _, n := range []int{2, 4} {
			if err := f.LogDensity(make([]float64, n), x, .5); !errors.Is(err, ErrShape) {
				t.Errorf("%s: %d values of 3 points: error %v", name, n, err)
			}
		}
	}
}
