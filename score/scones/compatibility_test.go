package scones

import (
	"errors"
	"math"
	"testing"

	_ "coupling/lab/draws"
	"coupling/ot/fdiv"

	"pgregory.net/rapid"
)

// M is the derivative of the penalty, and the slope that of log M, below the cap and above it, with
// and without soft-plus.
func TestDerivatives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := Compatibility{F: rapid.SampledFrom(fdiv.All()).Draw(t, "f"),
			Lambda: rapid.Float64Range(.1, 10).Draw(t, "lambda"),
			Cap:    rapid.SampledFrom([]float64{0, 2, 50}).Draw(t, "cap")}
		u := rapid.Float64Range(-5, 3).Draw(t, "u")
		v, h := u*k.Lambda, 1e-6*k.Lambda
		if math.Abs(u) < 1e-4 || math.Abs(u+2) < 1e-4 || math.Abs(u-k.edge()) < 1e-4 {
			return // kinks of chi², and second derivatives at the cap
		}
		if k.Cap == 0 && u > k.edge()-.05 && !math.IsInf(k.edge(), 1) {
			return // near the bound f* is so curved that differences say nothing
		}
		want := (k.Penalty(v+h) - k.Penalty(v-h)) / (2 * h)
		if got := k.Density(v); math.Abs(got-want) > 1e-5*(1+got) {
			t.Fatalf("%+v at V = %g: density %g, difference quotient %g", k, v, got, want)
		}
		if k.Density(v) == 0 {
			return
		}
		want = (k.LogDensity(v+h) - k.LogDensity(v-h)) / (2 * h)
		if got := k.Slope(v); math.Abs(got-want) > 1e-4*(math.Abs(got)+1/k.Lambda) {
			t.Fatalf("%+v at V = %g: slope %g, difference quotient %g", k, v, got, want)
		}
	})
}

// The soft-plus tends to the M that it smooths as β grows; far below the kink its slope is β, at β
// = 1 and |V| ≪ 1 it is 1/(2 log 2) = 0.72 whatever λ is: what the published code ran.
func TestSoftplus(t *testing.T) {
	sharp, exact := Compatibility{F: fdiv.ChiSquare, Lambda: .3, Beta: 1e4},
		Compatibility{F: fdiv.ChiSquare, Lambda: .3}
	for _, v := range []float64{.01, .5, 4} {
		if a, b := sharp.LogDensity(v), exact.LogDensity(v); math.Abs(a-b) > 1e-12 {
			t.Errorf("V = %g: %g, want %g", v, a, b)
		}
	}
	for _, beta := range []float64{1, 10, 1000} {
		k := Compatibility{F: fdiv.ChiSquare, Lambda: .01, Beta: beta}
		if got := k.Slope(-1e3); got != beta {
			t.Errorf("slope far below: %g, want %g", got, beta)
		}
		if got := k.LogDensity(-1e3) - k.LogDensity(-2e3); math.Abs(got-1e3*beta) > 1e-6*beta {
			t.Errorf("log M falls by %g over 1000, want %g", got, 1e3*beta)
		}
	}
	for _, lambda := range []float64{.1, .01, .001} {
		if got := (Compatibility{F: fdiv.ChiSquare, Lambda: lambda, Beta: 1}).
			Slope(0); math.Abs(got-.5/math.Ln2) > 1e-12 {
			t.Errorf("λ = %g: slope %g at β = 1", lambda, got)
		}
	}
	pearson := Compatibility{F: fdiv.Pearson, Lambda: .3, Beta: 5}
	chi := Compatibility{F: fdiv.ChiSquare, Lambda: .3, Beta: 5}
	if a, b := pearson.LogDensity(.2), chi.LogDensity(.8); math.Abs(a-b) > 1e-12 {
		t.Errorf("Pearson at V is ChiSquare at V + 2λ: %g and %g", a, b)
	}
}

func TestRefusals(t *testing.T) {
	for _, k := range []Compatibility{{}, {Lambda: -1}, {Lambda: 1, Beta: -1}, {Lambda: 1, Beta: 1}, {Lambda: 1, F: 99},
		{Lambda: 1, Cap: math.NaN()}} {
		if err := k.Check(); !errors.Is(err, ErrParameter) {
			t.Errorf("%+v: error %v", k, err)
		}
	}
	q := &Quadratic{}
	for name, c := range map[string]Coupling{
		"nothing": {Compatibility: Compatibility{Lambda: 1}},
		"no phi":  {Compatibility: Compatibility{Lambda: 1, F: fdiv.Hellinger}, Psi: q},
	} {
		if _, err := c.Given(nilRows()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
