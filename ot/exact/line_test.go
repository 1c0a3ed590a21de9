package exact_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/exact"
)

func power(x, y []float64, p float64) *mat.Dense {
	c := mat.NewDense(len(x), len(y), nil)
	c.Apply(func(i, j int, _ float64) float64 { return math.Pow(math.Abs(x[i]-y[j]), p) }, c)
	return c
}

// TestLineSimplex: sorting and the simplex agree, ties and zero weights included.
func TestLineSimplex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(1, 15).Draw(t, "n"), rapid.IntRange(1, 15).Draw(t, "m")
		point := rapid.SampledFrom([]*rapid.Generator[float64]{
			rapid.Float64Range(-3, 3),
			rapid.Map(rapid.IntRange(-2, 2), func(k int) float64 { return float64(k) }),
		}).Draw(t, "kind")
		x, y := rapid.SliceOfN(point, n, n).Draw(t, "x"), rapid.SliceOfN(point, m, m).Draw(t, "y")
		a, b := measures(t, n, m)
		p := rapid.SampledFrom([]float64{1, 1.5, 2, 3}).Draw(t, "p")
		line := must.Get(exact.Line{P: p}.Solve(t.Context(), x, a, y, b))
		sol := solve(t, a, b, power(x, y, p))
		tol := 1e-13 * math.Pow(6, p) // alternating sums of up to 30 costs of at most 6^p
		if math.Abs(line.Value-sol.Value) > tol {
			t.Fatalf("line %v, simplex %v", line.Value, sol.Value)
		}
		if c := line.Certificate; c.Bound() > tol || c.Slackness > tol || c.Infeasibility > tol || c.Marginal > 1e-14 {
			t.Fatalf("%+v", c)
		}
		full, err := exact.Certify(t.Context(), ot.Problem{Geometry: ot.Dense(power(x, y, p)), A: a, B: b}, line.Arcs,
			line.F, line.G)
		if err != nil || math.Abs(full.Infeasibility-line.Certificate.Infeasibility) > tol {
			t.Fatalf("infeasibility over all pairs %v, by monotonicity %v, error %v", full.Infeasibility,
				line.Certificate.Infeasibility, err)
		}
		value, err := exact.Line{P: p}.Value(x, a, y, b)
		if err != nil || math.Abs(value-line.Value) > tol {
			t.Fatalf("value alone %v, of the plan %v, error %v", value, line.Value, err)
		}
	})
}

// TestLineShift: W_p between a cloud and its translate by s is |s|, for every p.
func TestLineShift(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := make([]float64, 500), make([]float64, 500)
	for i := range x {
		x[i] = rng.NormFloat64()
		y[i] = x[i] + 0.75
	}
	for _, p := range []float64{1, 1.25, 2, 4} {
		v, err := exact.Line{P: p}.Value(x, nil, y, nil)
		if want := math.Pow(0.75, p); err != nil || math.Abs(v-want) > 1e-14 {
			t.Errorf("p = %v: %v, want %v, error %v", p, v, want, err)
		}
	}
}

func TestLineErrors(t *testing.T) {
	for _, k := range []struct {
		p          float64
		x, a, y, b []float64
		is         error
		text       string
	}{
		{.5, []float64{1}, nil, []float64{2}, nil, ot.ErrCost,
			"ot/exact: P = 0.5: must be finite and at least 1: cost out of range"},
		{1, nil, nil, []float64{2}, nil, ot.ErrShape, "ot/exact: len(x) = 0: sizes do not match"},
		{1, []float64{1}, nil, []float64{math.NaN()}, nil, ot.ErrCost,
			"ot/exact: y[0] = NaN: must be finite: cost out of range"},
		{1, []float64{1}, []float64{1, 2}, []float64{1}, nil, ot.ErrShape,
			"ot/exact: a has 2 weights for 1 atoms: sizes do not match"},
		{2, []float64{1e200}, nil, []float64{0}, nil, ot.ErrCost,
			"ot/exact: largest cost |1e+200 − 0|^2 = +Inf: cost out of range"},
		{2, []float64{1}, []float64{2}, []float64{0}, nil, exact.ErrUnbalanced,
			"ot/exact: total mass of a = 2, of b = 1: total masses must agree to 1e-9"},
	} {
		_, err := exact.Line{P: k.p}.Solve(t.Context(), k.x, k.a, k.y, k.b)
		if !errors.Is(err, k.is) || err.Error() != k.text {
			t.Errorf("error %q, want %q", err, k.text)
		}
	}
}
