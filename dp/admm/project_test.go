package admm_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"coupling/dp/admm"
	"coupling/lab/must"

	"pgregory.net/rapid"
)

// onlyKuhnTucker reports what is wrong with v as the projection of c: the conditions that characterise it.
func onlyKuhnTucker(v, c []float64, b admm.Bounds) string {
	sum, scale := 0.0, 1.0
	for i := range v {
		if v[i] < 0 || math.IsNaN(v[i]) {
			return "negative"
		}
		sum += v[i]
		scale = max(scale, math.Abs(c[i]))
	}
	tol := 1e-12 * scale * float64(len(v)+1)
	if sum > b.Max+tol || sum < b.Min-tol && len(v) > 0 {
		return "sum out of bounds"
	}
	// c − v = τ where v > 0 and ≤ τ elsewhere, with one τ: of the sign of the bound that is tight, 0 if none is.
	lo, hi := math.Inf(-1), math.Inf(1)
	for i := range v {
		if v[i] > tol {
			lo, hi = max(lo, c[i]-v[i]), min(hi, c[i]-v[i])
		} else {
			lo = max(lo, c[i]-v[i])
		}
	}
	if sum < b.Max-tol {
		hi = min(hi, 0)
	}
	if sum > b.Min+tol {
		lo = max(lo, 0)
	}
	if lo > hi+2*tol {
		return "no multiplier"
	}
	return ""
}

func TestProject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SliceOfN(rapid.Float64Range(-1e3, 1e3), 1, 12).Draw(t, "c")
		low := rapid.Float64Range(0, 1e3).Draw(t, "low")
		b := admm.Bounds{Min: low, Max: low + rapid.SampledFrom([]float64{0, 1, 100, math.Inf(1)}).Draw(t, "width")}
		v := make([]float64, len(c))
		admm.Project(v, c, b)
		if wrong := onlyKuhnTucker(v, c, b); wrong != "" {
			t.Fatalf("Project(%v, %v) = %v: %s", c, b, v, wrong)
		}
		again := slices.Clone(v)
		admm.Project(again, again, b)
		for i := range v {
			if math.Abs(again[i]-v[i]) > 1e-12*(1+low) {
				t.Fatalf("not idempotent: %v, then %v", v, again)
			}
		}
	})
}

// However large or small the numbers are, and however far apart: amounts are not negative, their
// sum is right to its own precision, amounts that are positive differ as c does, and nothing that
// is larger in c is smaller.
func TestProjectAtExtremes(t *testing.T) {
	magnitude := rapid.Custom(func(t *rapid.T) float64 {
		v := math.Ldexp(rapid.Float64Range(.5, 1).Draw(t, "mantissa"), rapid.IntRange(-1000, 1000).Draw(t, "exponent"))
		return v * rapid.SampledFrom([]float64{0, 1, -1}).Draw(t, "sign")
	})
	rapid.Check(t, func(t *rapid.T) {
		base, s := magnitude.Draw(t, "base"), math.Abs(magnitude.Draw(t, "sum"))
		c := []float64{base}
		for range rapid.IntRange(0, 8).Draw(t, "more") {
			c = append(c,
				rapid.SampledFrom([]float64{base, math.Nextafter(base, 0), base / 2, -base, magnitude.Draw(t, "c"),
					base - s/3}).Draw(t, "like"))
		}
		for _, b := range []admm.Bounds{{Max: s}, {Min: s, Max: s}, {Min: s, Max: math.Inf(1)}} {
			v := make([]float64, len(c))
			admm.Project(v, c, b)
			sum := 0.0
			for _, x := range v {
				sum += x
			}
			if tol := 1e-14 * s * float64(len(c)); sum > b.Max+tol || sum < b.Min-tol || math.IsNaN(sum) {
				t.Fatalf("Project(%v, %v) = %v: sum %v", c, b, v, sum)
			}
			for i := range v {
				for j := range v {
					if v[i] < 0 || c[i] > c[j] && v[i] < v[j] {
						t.Fatalf("Project(%v, %v) = %v: wrong order", c, b, v)
					}
					if d := c[i] - c[j]; v[i] > 0 && v[j] > 0 && math.Abs(v[i]-v[j]-d) > 1e-14*(v[i]+v[j]+math.Abs(d)) {
						t.Fatalf("Project(%v, %v) = %v: differences are not those of c", c, b, v)
					}
				}
			}
		}
	})
}

// Steepness holds at every amount, and is attained.
func TestSteepness(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	for range 200 {
		a, r, b := 5*rng.Float64(), 5*rng.Float64(), .2+3*rng.Float64()
		for _, us := range [][2]admm.Utility{
			{admm.Linear{A: a}, admm.Linear{A: a + r}}, {admm.Log{A: a, B: b}, admm.Log{A: a + r, B: b}},
			{admm.Saturating{A: a, B: b}, admm.Saturating{A: a + r, B: b}},
			{admm.Quadratic{A: a, B: b}, admm.Quadratic{A: a + r, B: b}},
		} {
			per, known := admm.Steepness(us[0])
			largest := 0.0
			for _, v := range []float64{0, 1e-9, .1, 1, 3 * rng.Float64(), 10} {
				largest = max(largest, us[1].Slope(v)-us[0].Slope(v))
			}
			if !known || math.Abs(largest-per*r) > 1e-12*(1+per*r) {
				t.Errorf("%T: slopes of %v and %v differ by up to %v, want %v", us[0], us[0], us[1], largest, per*r)
			}
		}
	}
	if _, known := admm.Steepness(own{}); known {
		t.Error("a function has a steepness")
	}
}

// One node alone on a star is one subproblem: after many rounds against sources without bounds or
// utility the answer maximises its own utility, and slopes at positive amounts are equal (water
// filling).
func TestWaterFilling(t *testing.T) {
	for _, us := range [][]admm.Utility{
		{admm.Log{A: 1, B: 1}, admm.Log{A: 2, B: .5}, admm.Log{A: .1, B: 3}},
		{admm.Saturating{A: 3, B: 1}, admm.Quadratic{A: 2, B: 1}, admm.Log{A: 1, B: 1}},
		{own{f: math.Atan, d: func(v float64) float64 { return 1 / (1 + v*v) }}, admm.Linear{A: .2},
			admm.Log{A: 1, B: 2}},
	} {
		p := admm.Problem{Graph: admm.Complete(1, 3), TargetUtility: us, TargetBounds: []admm.Bounds{{Max: 3}}}
		r := must.Get(admm.ADMM{Tol: 1e-10}.Solve(t.Context(), p))
		price := 0.0
		for i, v := range r.Plan {
			if v > 1e-6 {
				price = us[i].Slope(v)
			}
		}
		for i, v := range r.Plan {
			if s := us[i].Slope(max(v, 0)); v > 1e-6 && math.Abs(s-price) > 1e-6 || s > price+1e-6 {
				t.Errorf("%v: at %v the slopes are not level: %v and %v", us, r.Plan, s, price)
			}
		}
	}
}

// Slopes are derivatives.
func TestSlopes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		a, b, v := 5*rng.Float64(), .2+3*rng.Float64(), 4*rng.Float64()
		for _, u := range []admm.Utility{admm.Linear{A: a}, admm.Log{A: a, B: b}, admm.Saturating{A: a, B: b},
			admm.Quadratic{A: a, B: b}} {
			const h = 1e-5
			// |u‴|h² and, at 0, |u″|h
			if d := (u.Value(v+h) - u.Value(max(v-h, 0))) /
				(v + h - max(v-h, 0)); math.Abs(d-u.Slope(v)) > 1e-4*(1+a/b/b) {
				t.Errorf("%T%v at %v: slope %v, difference %v", u, u, v, u.Slope(v), d)
			}
		}
	}
}
