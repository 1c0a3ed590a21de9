package gaussian_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	_ "coupling/lab/draws"
	"coupling/lab/must"
	"coupling/ot/gaussian"
)

// The barycentre of definite Gaussians is where the weighted maps to them average to the identity,
// of two it lies on their geodesic, and of commuting ones it has the weighted mean of roots;
// singular ones have no larger objective than any of the measures, or than measures near the
// barycentre.
func TestBarycentre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := seeded(rapid.Uint64().Draw(t, "seed"), 0)
		d, k := rapid.IntRange(1, 5).Draw(t, "d"), rapid.IntRange(1, 4).Draw(t, "measures")
		floor := rapid.SampledFrom([]float64{0, .1}).Draw(t, "floor")
		p, w := make([]gaussian.Normal, k), make([]float64, k)
		for i := range p {
			p[i] = gaussian.Normal{Mean: vector(rng, d), Cov: wishart(rng, d, 1+rng.IntN(d+1), floor)}
			w[i] = .1 + rng.Float64()
		}
		floats.Scale(1/floats.Sum(w), w)
		b := must.Get(gaussian.Barycentre(context.Background(), p, w))
		within := 1e-11 * (1 + mat.Trace(b.Cov))
		if floor == 0 {
			other := gaussian.Normal{Mean: b.Mean, Cov: mat.NewSymDense(d, nil)}
			other.Cov.AddSym(b.Cov, wishart(rng, d, 1, 0))
			least := objective(p, w, b)
			for _, q := range append(p, other) {
				if v := objective(p, w, q); v < least-1e-7*(1+v) { // roots of eigenvalues of 1e-15
					t.Fatalf("objective %v, elsewhere %v", least, v)
				}
			}
			return
		}
		average := mat.NewDense(d, d, nil)
		for i, q := range p {
			var part mat.Dense
			part.Scale(w[i], must.Get(gaussian.Map(b, q)).Linear)
			average.Add(average, &part)
			floats.AddScaled(b.Mean, -w[i], q.Mean)
		}
		if e := distance(average, mat.NewDiagDense(d, ones(d))); e > 1e-9 {
			t.Fatalf("the average of the maps is off the identity by %v", e)
		}
		if floats.Norm(b.Mean, 2) > 1e-14*float64(k) {
			t.Fatalf("mean off by %v", b.Mean)
		}
		if k == 2 {
			var half mat.Dense
			half.Scale(w[1], must.Get(gaussian.Map(p[0], p[1])).Linear)
			half.Add(&half, mat.NewDiagDense(d, scaled(w[0], ones(d))))
			if e := distance(mul(mul(&half, p[0].Cov), &half), b.Cov); e > 100*within {
				t.Fatalf("off the geodesic by %v", e)
			}
		}
	})
	p := []gaussian.Normal{{Cov: diag(1, 0, 4)}, {Cov: diag(9, 0, 0)}}
	b := must.Get(gaussian.Barycentre(t.Context(), p, []float64{3, 1}))
	if e := distance(b.Cov, diag(2.25, 0, 2.25)); e > 1e-14 {
		t.Errorf("of commuting covariances: %v", b.Cov)
	}
	for _, f := range []struct {
		p []gaussian.Normal
		w []float64
		e error
	}{{nil, nil, gaussian.ErrShape}, {p, ones(3), gaussian.ErrShape},
		{append(p, gaussian.Normal{Cov: diag(1)}), nil, gaussian.ErrShape},
		{[]gaussian.Normal{{Cov: diag(-1)}}, nil, gaussian.ErrCovariance}} {
		if _, err := gaussian.Barycentre(t.Context(), f.p, f.w); !errors.Is(err, f.e) {
			t.Errorf("%v, want %v", err, f.e)
		}
	}
}

// objective is Σ w W₂²(p, q).
func objective(p []gaussian.Normal, w []float64, q gaussian.Normal) (sum float64) {
	for i := range p {
		sum += w[i] * must.Get(gaussian.Wasserstein(p[i], q))
	}
	return sum
}

func ones(n int) []float64 { return scaled(1, make([]float64, n)) }

// scaled returns f for each entry that is 0, and f times the others.
func scaled(f float64, v []float64) []float64 {
	for i, x := range v {
		if v[i] = f * x; x == 0 {
			v[i] = f
		}
	}
	return v
}

// A weight counts as so many copies of a row do in the mean, and equal weights give the usual
// covariance; the divisor 1 − Σw² makes the covariance unbiased.
func TestWeightedEmpirical(t *testing.T) {
	rng := seeded(21, 1)
	x := mat.NewDense(3, 2, vector(rng, 6))
	w := []float64{1, 2, 5}
	got, even, plain := must.Get(gaussian.Empirical(x, w)), must.Get(gaussian.Empirical(x, ones(3))),
		must.Get(gaussian.Empirical(x, nil))
	if !mat.EqualApprox(even.Cov, plain.Cov, 1e-15) {
		t.Errorf("equal weights %v, none %v", even.Cov, plain.Cov)
	}
	for i := range 2 {
		for j := range 2 {
			var sum float64
			for k, v := range w {
				sum += v / 8 * (x.At(k, i) - got.Mean[i]) * (x.At(k, j) - got.Mean[j])
			}
			if want := sum / (1 - 30./64); math.Abs(got.Cov.At(i, j)-want) > 1e-14 {
				t.Errorf("covariance %d,%d: %v, want %v", i, j, got.Cov.At(i, j), want)
			}
		}
		if want := (x.At(0, i) + 2*x.At(1, i) + 5*x.At(2, i)) / 8; math.Abs(got.Mean[i]-want) > 1e-15 {
			t.Errorf("mean %v, want %v", got.Mean[i], want)
		}
	}
	if _, err := gaussian.Empirical(x, []float64{0, 1, 0}); err == nil {
		t.Error("one positive weight has a covariance")
	}
	// Unbiased: over many draws of standard normals the mean is 1.
	const draws = 20_000
	var sum float64
	for range draws {
		sum += must.Get(gaussian.Empirical(mat.NewDense(3, 1, vector(rng, 3)), w)).Cov.At(0, 0) / draws
	}
	if math.Abs(sum-1) > 5*1.2/math.Sqrt(draws) { // its deviation is 1.1
		t.Errorf("mean covariance %v, want 1", sum)
	}
}
