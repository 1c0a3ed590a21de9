package freg

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	_ "coupling/lab/draws"
	"coupling/lab/must"
	"coupling/ot/fdiv"
	"coupling/ot/internal/rows"
)

// near reports |got−want| ≤ tol·(1+|want|).
func near(got, want, tol float64) bool { return math.Abs(got-want) <= tol*(1+math.Abs(want)) }

// The families are the functions of fdiv in other coordinates.
func TestFamilies(t *testing.T) {
	for _, d := range fdiv.All() {
		f, offset := familyOf(d)
		if b := d.Bound(); !math.IsInf(b, 1) && b != offset {
			t.Errorf("%v: offset %g, but the bound is %g", d, offset, b)
		}
		for _, v := range []float64{1e-9, 1e-3, 0.1, 0.5, 1, 1.5, 7, 400, 1e7} {
			x := f.inverse(v)
			u := x + offset
			// u is rounded to an ulp, which the density magnifies by its condition.
			tol := 1e-14 + 0x1p-51*(1+math.Abs(u))*f.slope(v)/v
			if got := d.Compatibility(u); !near(got/v, 1, tol) {
				t.Errorf("%v: M(%g) = %g, want %g", d, u, got, v)
			}
			if got := d.Curvature(u) / f.slope(v); !near(got, 1, 4*tol) {
				t.Errorf("%v: v = %g: curvature off by a factor of %g", d, v, got)
			}
			if got := f.inverseOf(1 / v); !near(got, x, 1e-15) {
				t.Errorf("%v: inverseOf(1/%g) = %g, want %g", d, v, got, x)
			}
		}
		if x := f.inverseOf(1e-300); d.Bound() < math.Inf(1) && !(x < 0) {
			t.Errorf("%v: the largest density is at x = %g, outside the domain", d, x)
		}
	}
}

// excess is f(v) + f*(u) − uv, which loses digits, and is zero on the diagonal.
func TestExcess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(fdiv.All()).Draw(t, "f")
		v := math.Exp(rapid.Float64Range(-20, 10).Draw(t, "log v"))
		v0 := math.Exp(rapid.Float64Range(-20, 10).Draw(t, "log v0"))
		f, offset := familyOf(d)
		x := f.inverse(v0)
		u := x + offset
		got, want := f.excess(v, v0, x), d.F(v)+d.Conjugate(u)-u*v
		scale := 1 + math.Abs(d.F(v)) + math.Abs(d.Conjugate(u)) + math.Abs(u*v) + f.slope(v0)*math.Abs(v-v0)
		if !(math.Abs(got-want) <= 1e-13*scale*(1+f.slope(v0)/v0)) || got < 0 {
			t.Fatalf("%v: v = %g, v0 = %g: excess %g, want %g", d, v, v0, got, want)
		}
		if e := f.excess(v0, v0, x); e != 0 {
			t.Fatalf("%v: excess(v, v) = %g", d, e)
		}
	})
}

// A ramp that is zero still prices mass; densities that underflow are no worse than small ones.
func TestExcessAtZero(t *testing.T) {
	if got, want := ramp.excess(0.5, 0, -3), 0.5*0.5+3*0.5; got != want { // v² + 0 − xv with f = v²
		t.Errorf("ramp: %g, want %g", got, want)
	}
	for _, f := range []family{exponential, logistic} {
		x := -800.
		if got, want := f.excess(1, 0, x), 800.; !near(got, want, 0.01) {
			t.Errorf("family %s: excess(1, underflow) = %g, want about %g", f.name, got, want)
		}
		if got := f.excess(1, 5e-320, math.Log(5e-320)); !(got > 700 && got < 740) {
			t.Errorf("family %s: excess(1, denormal) = %g", f.name, got)
		}
		if got := f.excess(0, 0, x); got != 0 {
			t.Errorf("family %s: excess(0, underflow) = %g", f.name, got)
		}
	}
}

// The entropic function's series and its definition agree where they meet.
func TestEntropic(t *testing.T) {
	for _, d := range []float64{0.0099999, -0.0099999} {
		want := (1+d)*math.Log1p(d) - d
		if got := entropic(d); math.Abs(got-want) > 1e-16 {
			t.Errorf("entropic(%g) = %.17g, want %.17g", d, got, want)
		}
	}
	if entropic(-1) != 1 || entropic(0) != 0 {
		t.Error("entropic(−1) = 1 and entropic(0) = 0 fail")
	}
}

// The row equation has its root inside the domain, from any guess, for weights and costs of any size.
func TestRowEquation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 40).Draw(t, "m")
		d := rapid.SampledFrom(fdiv.All()).Draw(t, "f")
		f, _ := familyOf(d)
		scale := math.Pow(10, rapid.Float64Range(-6, 12).Draw(t, "log scale"))
		raw := make([]float64, m)
		psi, c := make([]float64, m), make([]float64, m)
		for j := range m {
			raw[j] = math.Pow(10, rapid.Float64Range(-14, 0).Draw(t, "log b"))
			c[j] = scale * rapid.Float64Range(-1, 1).Draw(t, "c")
			psi[j] = scale * rapid.Float64Range(-1, 1).Draw(t, "psi")
		}
		b, _ := must.Get2(weights("b", raw, m, "targets"))
		r := newRow(m, 0)
		r.load(f, 1, psi, c)
		r.solve(f, b, rapid.Float64Range(-3, 5).Draw(t, "guess"))
		if f != exponential && f != ramp && !(r.x < 0) {
			t.Fatalf("%v: x = %g is outside the domain", d, r.x)
		}
		var s rows.Sum
		for j := range b {
			if !(r.v[j] >= 0) || math.IsInf(r.v[j], 1) {
				t.Fatalf("%v: density %g", d, r.v[j])
			}
			s.Add(r.t[j])
		}
		if math.Abs(s.Value()-1) > 1e-14 { // 40 terms
			t.Fatalf("%v: Σ b v − 1 = %g at x = %g", d, s.Value()-1, r.x)
		}
	})
}

// The Bregman divergence of log v − log(1+v) by its integral, ∫ (v−s)/(s(1+s)) ds from v0 to v, over 34 decades; and no
// pair of densities that weights can lead to makes it negative or not a number.
func TestExcessFar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lv, lv0 := rapid.Float64Range(-39, 39).Draw(t, "log v"), rapid.Float64Range(-39, 39).Draw(t, "log v0")
		if rapid.Bool().Draw(t, "near") {
			lv0 = lv + math.Mod(lv0, 3)
		}
		v, v0 := math.Exp(lv), math.Exp(lv0)
		const steps = 1000
		var want rows.Sum
		h := math.Log(v/v0) / steps
		at := func(k int) float64 {
			s := v0 * math.Exp(h*float64(k)/2)
			return (v - s) / (1 + s)
		}
		for k := 0; k < 2*steps; k += 2 { // Simpson, in log s
			want.Add(h / 6 * (at(k) + 4*at(k+1) + at(k+2)))
		}
		// Steps are at most 0.08 long: (0.08)⁴/2880, and the rounding of v − s where v is near v0.
		tol := 1e-7 + 1e-13/math.Max(math.Abs(lv-lv0), 1e-13)
		if got := logistic.excess(v, v0, logistic.inverse(v0)); !(got >= 0) ||
			math.Abs(got-want.Value()) > tol*want.Value() {
			t.Fatalf("excess(%g, %g) = %g, want %g", v, v0, got, want.Value())
		}
	})
	densities := []float64{0, 1e-300, 1e-280, 1e-150, 1e-10, 1e-3, 1, 1e3, 1e10, 1e100, 1e150}
	for _, f := range []family{exponential, inverse, ramp, square, logistic} {
		for _, v := range densities {
			for _, v0 := range densities {
				x := -800. // where the density underflows
				switch bounded := f == inverse || f == square; {
				case v0 == 0 && bounded, v0 < 1e-14 && bounded, v == 0 && f == inverse:
					continue // costs of up to 1e14 λ keep 1/(d−x) above 1e-14, and reverse KL is infinite at 0
				case v0 > 0:
					x = f.inverse(v0)
				}
				if got := f.excess(v, v0, x); !(got >= 0) || math.IsInf(got, 1) {
					t.Errorf("family %s: excess(%g, %g) = %g", f.name, v, v0, got)
				}
			}
		}
	}
}
