package exact_test

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	_ "coupling/lab/draws"
	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/exact"
)

// TestCircleSimplex: the coupling by levels and the simplex agree, ties and zero weights included,
// and the certificate of the one, by monotonicity, is that over all pairs.
func TestCircleSimplex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(1, 12).Draw(t, "n"), rapid.IntRange(1, 12).Draw(t, "m")
		length := rapid.SampledFrom([]float64{0, 1, 2 * math.Pi, 5}).Draw(t, "length")
		point := rapid.SampledFrom([]*rapid.Generator[float64]{
			rapid.Float64Range(-3, 9),
			rapid.Map(rapid.IntRange(-4, 9), func(k int) float64 { return float64(k) / 4 }),
		}).Draw(t, "kind")
		x, y := rapid.SliceOfN(point, n, n).Draw(t, "x"), rapid.SliceOfN(point, m, m).Draw(t, "y")
		a, b := measures(t, n, m)
		p := rapid.SampledFrom([]float64{1, 1.5, 2, 3}).Draw(t, "p")
		sol := must.Get(exact.Circle{P: p, Length: length}.Solve(t.Context(), x, a, y, b))
		if length == 0 {
			length = 1
		}
		c := mat.NewDense(n, m, nil)
		c.Apply(func(i, j int, _ float64) float64 {
			d := math.Abs(math.Remainder(x[i]-y[j], length))
			return math.Pow(d, p)
		}, c)
		tol := 1e-12 * math.Pow(length, p)
		if want := solve(t, a, b, c); math.Abs(sol.Value-want.Value) > tol {
			t.Fatalf("circle %v, simplex %v", sol.Value, want.Value)
		}
		if c := sol.Certificate; c.Bound() > tol || c.Slackness > tol || c.Infeasibility > tol || c.Marginal > 1e-14 {
			t.Fatalf("%+v", c)
		}
		full, err := exact.Certify(t.Context(), ot.Problem{Geometry: sol.Geometry, A: a, B: b}, sol.Arcs, sol.F, sol.G)
		if err != nil || math.Abs(full.Infeasibility-sol.Certificate.Infeasibility) > tol ||
			math.Abs(full.Primal-sol.Value) > tol {
			t.Fatalf("over all pairs %+v, %v; by monotonicity %+v", full, err, sol.Certificate)
		}
	})
}

// A rotation by s costs s^p where nothing is gained by going the other way, two Diracs half a circle
// apart cost (Length/2)^p, and two on either side of 0 are as far apart as on the line.
func TestCircleKnown(t *testing.T) {
	x, y := make([]float64, 400), make([]float64, 400)
	for i := range x {
		x[i] = float64(i) / 400
		y[399-i] = x[i] + 0.001
	}
	for _, p := range []float64{1, 2, 3} {
		sol, err := exact.Circle{P: p}.Solve(t.Context(), x, nil, y, nil)
		if want := math.Pow(0.001, p); err != nil || math.Abs(sol.Value-want) > 1e-14 {
			t.Errorf("p = %v: %v, %v, want %v", p, sol.Value, err, want)
		}
		for _, k := range []struct{ x, y, length, apart float64 }{{350, -190, 360, 180}, {1e-20, -1e-20, 1, 2e-20}} {
			sol, err = exact.Circle{P: p, Length: k.length}.Solve(t.Context(), []float64{k.x}, nil, []float64{k.y}, nil)
			if want := math.Pow(k.apart, p); err != nil || math.Abs(sol.Value-want) > 1e-15*want {
				t.Errorf("%v, p = %v: %v, %v, want %v", k, p, sol, err, want)
			}
		}
	}
	if _, err := (exact.Circle{Length: -1}).Solve(t.Context(), x, nil, y, nil); !errors.Is(err, ot.ErrParameter) {
		t.Errorf("Length = −1: %v", err)
	}
}
