package fdiv_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	_ "coupling/lab/draws"
	"coupling/lab/must"
	"coupling/ot/fdiv"
)

// near reports |got − want| ≤ tol·max(1, |want|), and equality of infinities.
func near(got, want, tol float64) bool {
	return got == want || math.Abs(got-want) <= tol*max(1, math.Abs(want))
}

// arguments of f* across the domain of d, dense near the bound.
func arguments(d fdiv.Divergence) []float64 {
	u := []float64{-30, -10, -5, -2.5, -2, -1.5, -1, -0.5, -0.1, -0.01}
	if math.IsInf(d.Bound(), 1) {
		return append(u, 0, 1e-3, 0.5, 1, 2, 5)
	}
	for _, gap := range []float64{0.5, 0.1, 0.01, 1e-3} {
		u = append(u, d.Bound()-gap)
	}
	return u
}

// TestConjugate compares f* with the supremum over v found by golden section on log v, and M_f with where it is.
func TestConjugate(t *testing.T) {
	for _, d := range fdiv.All() {
		for _, u := range arguments(d) {
			at := func(s float64) float64 { v := math.Exp(s); return u*v - d.F(v) }
			s, sup := maximise(at, -80, 20)
			sup = max(sup, -d.F(0))
			if got := d.Conjugate(u); !near(got, sup, 1e-12) {
				t.Errorf("%v: f*(%v) = %v, supremum %v", d, u, got, sup)
			}
			// Near a maximum a golden section cannot see changes of √2^-53, whatever their cause.
			if got, want := d.Compatibility(u), math.Exp(s); !near(got, want, 1e-6) {
				t.Errorf("%v: M(%v) = %v, supremum at %v", d, u, got, want)
			}
		}
	}
}

// maximise returns the maximum of a unimodal function on [lo, hi].
func maximise(f func(float64) float64, lo, hi float64) (at, value float64) {
	r := (math.Sqrt(5) - 1) / 2
	a, b := hi-r*(hi-lo), lo+r*(hi-lo)
	fa, fb := f(a), f(b)
	for range 120 {
		if fa < fb {
			lo, a, fa = a, b, fb
			b = lo + r*(hi-lo)
			fb = f(b)
		} else {
			hi, b, fb = b, a, fa
			a = hi - r*(hi-lo)
			fa = f(a)
		}
	}
	return (lo + hi) / 2, max(fa, fb)
}

// TestDerivatives: each function is the derivative of the one before, by central differences with one Richardson step.
func TestDerivatives(t *testing.T) {
	for _, d := range fdiv.All() {
		for _, u := range arguments(d) {
			room := min(1, d.Bound()-u) // to the nearest singularity
			switch d {
			case fdiv.Pearson:
				room = min(room, math.Abs(u+2))
			case fdiv.ChiSquare:
				room = min(room, math.Abs(u))
			}
			if room == 0 {
				continue
			}
			h := 1e-3 * room
			for _, k := range []struct {
				name   string
				of, is func(float64) float64
			}{
				{"f*′ = M", d.Conjugate, d.Compatibility},
				{"f*″", d.Compatibility, d.Curvature},
				{"(log M)′", d.LogCompatibility, d.Score},
			} {
				want := k.is(u)
				if math.IsNaN(want) { // M = 0
					if d.Compatibility(u) != 0 {
						t.Errorf("%v: %s NaN at %v", d, k.name, u)
					}
					continue
				}
				// The step's error is h⁴ f⁽⁵⁾/120 ≈ 1e-12 relative, rounding 1e-16/1e-3 of the function's own size.
				got := (8*(k.of(u+h)-k.of(u-h)) - (k.of(u+2*h) - k.of(u-2*h))) / (12 * h)
				if tol := 1e-9*math.Abs(want) + 1e-12*math.Abs(k.of(u))/h + 1e-13; math.Abs(got-want) > tol {
					t.Errorf("%v: %s at %v: %v, differences %v", d, k.name, u, want, got)
				}
			}
			if m, l := d.Compatibility(u), d.LogCompatibility(u); !near(math.Exp(l), m, 1e-13) {
				t.Errorf("%v: exp(log M(%v)) = %v, M = %v", d, u, math.Exp(l), m)
			}
		}
	}
}

// TestFenchel: f(v) + f*(u) ≥ uv, with equality exactly for v = M(u), u = f′(v).
func TestFenchel(t *testing.T) {
	for _, d := range fdiv.All() {
		t.Run(d.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				v := math.Exp(rapid.Float64Range(-20, 20).Draw(t, "log v"))
				u := d.Slope(v)
				scale := max(1, math.Abs(u*v), math.Abs(d.F(v)))
				if u < d.Bound() { // else it rounds to the bound
					if gap := d.F(v) + d.Conjugate(u) - u*v; math.Abs(gap) > 1e-8*scale && d.Bound()-u > 1e-8 {
						t.Fatalf("v = %v: f + f* − uv = %v", v, gap)
					}
					// u carries an error of 2^−53 u, and dv/du = f*″.
					if m := d.Compatibility(u); math.Abs(m-v) > 1e-13*v+4e-16*math.Abs(u)*d.Curvature(u)*2 {
						t.Fatalf("M(f′(%v)) = %v", v, m)
					}
				}
				w := min(rapid.Float64Range(-20, 20).Draw(t, "u"), d.Bound()-1e-9)
				if gap := d.F(v) + d.Conjugate(w) - w*v; gap < -1e-14*max(scale, math.Abs(w*v), d.Conjugate(w)) {
					t.Fatalf("f(%v) + f*(%v) − uv = %v < 0", v, w, gap)
				}
			})
		})
	}
}

// TestExtremes: values at the ends of the domains and where naive formulas lose all digits. The expected values are the
// leading terms of expansions, exact to the digits compared.
func TestExtremes(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, k := range []struct {
		name      string
		got, want float64
	}{
		{"kl f(0)", fdiv.KL.F(0), 0},
		{"reverse f(0)", fdiv.ReverseKL.F(0), inf},
		{"js f(0)", fdiv.JensenShannon.F(0), math.Ln2},
		{"gan f(0)", fdiv.GAN.F(0), 0},
		{"gan f(1)", fdiv.GAN.F(1), -math.Log(4)},
		{"js f(1+1e-8) = 1e-16/4", fdiv.JensenShannon.F(1+1e-8) / 2.5e-17, 1},
		{"js f(1e300) = 1e300 log 2", fdiv.JensenShannon.F(1e300) / 1e300, math.Ln2},
		{"hellinger f(1+1e-8) = 1e-16/4", fdiv.Hellinger.F(1+1e-8) / 2.5e-17, 1},
		{"gan f(1e300) = −1 − log", fdiv.GAN.F(1e300), -1 - 300*math.Ln10},
		{"gan f(1e-300)", fdiv.GAN.F(1e-300) / 1e-300, -300*math.Ln10 - 1},
		{"js f*(1e-20) = u", fdiv.JensenShannon.Conjugate(1e-20) / 1e-20, 1},
		{"js f*(−1000)", fdiv.JensenShannon.Conjugate(-1000), -math.Ln2},
		{"js M(−700) = e^u/2", fdiv.JensenShannon.Compatibility(-700) / math.Exp(-700), 0.5},
		{"gan f*(−1e-20) = −log(−u)", fdiv.GAN.Conjugate(-1e-20), 20 * math.Ln10},
		{"gan f*(−40) = e^u", fdiv.GAN.Conjugate(-40) / math.Exp(-40), 1},
		{"gan M(−1e-20) = −1/u", fdiv.GAN.Compatibility(-1e-20) / 1e20, 1},
		{"gan M(−800)", fdiv.GAN.Compatibility(-800), 0},
		{"gan log M(−800)", fdiv.GAN.LogCompatibility(-800), -800},
		{"hellinger log M(−1e300)", fdiv.Hellinger.LogCompatibility(-1e300), -600 * math.Ln10},
		{"reverse log M(−1e-310)", fdiv.ReverseKL.LogCompatibility(-1e-310), 310 * math.Ln10},
		{"kl log M(−5000)", fdiv.KL.LogCompatibility(-5000), -5001},
		{"pearson f*(−3)", fdiv.Pearson.Conjugate(-3), -1},
		{"pearson M(−3)", fdiv.Pearson.Compatibility(-3), 0},
		{"chi2 M(−3)", fdiv.ChiSquare.Compatibility(-3), 0},
		{"chi2 log M(−3)", fdiv.ChiSquare.LogCompatibility(-3), -inf},
		{"js f*(log 2)", fdiv.JensenShannon.Conjugate(math.Ln2), inf},
		{"hellinger f*(1)", fdiv.Hellinger.Conjugate(1), inf},
		{"gan f*(1)", fdiv.GAN.Conjugate(1), inf},
		{"kl f*(+Inf)", fdiv.KL.Conjugate(inf), inf},
		{"kl f(−1)", fdiv.KL.F(-1), inf},
	} {
		if !near(k.got, k.want, 2e-8) || math.IsNaN(k.got) {
			t.Errorf("%s: %v, want %v", k.name, k.got, k.want)
		}
	}
	for _, v := range []float64{
		fdiv.Hellinger.Compatibility(1), fdiv.GAN.Curvature(0), fdiv.JensenShannon.Score(1),
		fdiv.ReverseKL.LogCompatibility(0),
		fdiv.ReverseKL.Compatibility(inf), fdiv.KL.Slope(-1), fdiv.KL.F(nan), fdiv.GAN.Conjugate(nan),
		fdiv.Pearson.Score(-3),
	} {
		if !math.IsNaN(v) {
			t.Errorf("%v outside the domain", v)
		}
	}
}

// TestJensenShannonDigits compares f near 1 with 200-bit sums of its Taylor series in (v−1)/(v+1): all digits hold.
func TestJensenShannonDigits(t *testing.T) {
	for _, v := range []float64{0.5, 0.77, 0.78, 0.9, 0.999, 1 - 1e-9, 1, 1 + 1e-12, 1.01, 1.28, 1.29, 2} {
		exact := func(x float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(x) }
		num, den := exact(v), exact(v)
		x := num.Sub(num, exact(1))
		x.Quo(x, den.Add(den, exact(1)))
		x2, term, sum := exact(0).Mul(x, x), exact(1), exact(0)
		for k := 1; k < 80; k++ {
			term.Mul(term, x2)
			sum.Add(sum, exact(0).Quo(term, exact(float64(k*(2*k-1)))))
		}
		sum.Mul(sum, exact(0).Add(exact(0.5), exact(0).Mul(exact(v), exact(0.5))))
		want, _ := sum.Float64()
		if got := fdiv.JensenShannon.F(v); math.Abs(got-want) > 1e-14*want {
			t.Errorf("f(%v) = %v, want %v", v, got, want)
		}
	}
}

// between is D_f(P‖Q) = Σ q_i f(p_i/q_i), where q = 0 the limit p·Bound.
func between(d fdiv.Divergence, p, q []float64) (sum float64) {
	for i, w := range q {
		switch {
		case w > 0:
			sum += w * d.F(p[i]/w)
		case p[i] > 0:
			sum += p[i] * d.Bound()
		}
	}
	return sum
}

// TestBetween: known values, laws between the divergences, and the conventions at zero.
func TestBetween(t *testing.T) {
	p, q := []float64{.5, .25, .25}, []float64{.25, .25, .5}
	mid := []float64{.375, .25, .375}
	js := between(fdiv.KL, p, mid) + between(fdiv.KL, q, mid)
	hell := math.Pow(math.Sqrt(.5)-.5, 2) * 2
	for _, k := range []struct {
		d    fdiv.Divergence
		want float64
	}{
		{fdiv.KL, .25 * math.Ln2}, {fdiv.ReverseKL, .25 * math.Ln2}, {fdiv.Pearson, .25 + .125},
		{fdiv.ChiSquare, .25 + .125},
		{fdiv.Hellinger, hell}, {fdiv.JensenShannon, js}, {fdiv.GAN, js - math.Log(4)},
	} {
		if got := between(k.d, p, q); !near(got, k.want, 1e-15) {
			t.Errorf("%v: %v, want %v", k.d, got, k.want)
		}
	}
	// Disjoint supports: ∞ or the largest value.
	e1, e2 := []float64{1, 0, 0}, []float64{0, 1, 0}
	for _, k := range []struct {
		d    fdiv.Divergence
		want float64
	}{
		{fdiv.KL, math.Inf(1)}, {fdiv.ReverseKL, math.Inf(1)}, {fdiv.Pearson, math.Inf(1)},
		{fdiv.ChiSquare, math.Inf(1)},
		{fdiv.Hellinger, 2}, {fdiv.JensenShannon, 2 * math.Ln2}, {fdiv.GAN, 0},
	} {
		if got := between(k.d, e1, e2); got != k.want {
			t.Errorf("%v: disjoint %v, want %v", k.d, got, k.want)
		}
	}
}

// TestNonNegative: D_f ≥ f(1) on probability measures (Jensen).
func TestNonNegative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		w := rapid.SliceOfN(rapid.Float64Range(0, 1), n, n)
		p, q := normal(w.Draw(t, "p")), normal(w.Draw(t, "q"))
		for _, d := range fdiv.All() {
			if v := between(d, p, q); v < d.F(1)-1e-14 {
				t.Fatalf("%v: %v below f(1) = %v", d, v, d.F(1))
			}
		}
	})
}

func normal(w []float64) []float64 {
	w[0] += 1e-3
	total := 0.
	for _, v := range w {
		total += v
	}
	for i := range w {
		w[i] /= total
	}
	return w
}

func TestErrors(t *testing.T) {
	for _, k := range []struct {
		err  error
		is   error
		text string
	}{
		{fdiv.Divergence(9).Check(), fdiv.ErrUnknown, "ot/fdiv: Divergence(9): unknown divergence"},
		{new(fdiv.Divergence).UnmarshalText([]byte("tv")), fdiv.ErrUnknown, `ot/fdiv: "tv": unknown divergence`},
	} {
		if !errors.Is(k.err, k.is) || k.err.Error() != k.text {
			t.Errorf("error %q, want %q", k.err, k.text)
		}
	}
	must.Do(fdiv.JensenShannon.Check())
}

func TestText(t *testing.T) {
	for _, d := range fdiv.All() {
		raw, err := json.Marshal(d)
		var back fdiv.Divergence
		if err != nil || json.Unmarshal(raw, &back) != nil || back != d {
			t.Errorf("%v became %s became %v, error %v", d, raw, back, err)
		}
	}
	if _, err := json.Marshal(fdiv.Divergence(-1)); !errors.Is(err, fdiv.ErrUnknown) {
		t.Errorf("error %v", err)
	}
}

// FuzzOrder: f* is convex and not decreasing, M_f is neither negative nor decreasing, at any arguments of the domain.
func FuzzOrder(f *testing.F) {
	f.Add(0, -1., -.5)
	f.Add(5, -1e-300, .69)
	f.Add(6, -800., -1e-17)
	f.Fuzz(func(t *testing.T, kind int, u, w float64) {
		if kind < 0 || kind >= len(fdiv.All()) {
			return
		}
		d := fdiv.Divergence(kind)
		if !(u <= w && w < d.Bound()) || math.IsInf(u, 0) {
			return
		}
		fu, fw, mu, mw := d.Conjugate(u), d.Conjugate(w), d.Compatibility(u), d.Compatibility(w)
		slack := 1e-14 * max(math.Abs(fu), math.Abs(fw), 1)
		if fw < fu-slack || mu < 0 || mw < mu*(1-1e-14) {
			t.Fatalf("%v: f*(%v) = %v, f*(%v) = %v, M %v, %v", d, u, fu, w, fw, mu, mw)
		}
		if line := fu + mu*(w-u); fw < line-slack-1e-14*mu*(math.Abs(u)+math.Abs(w)) {
			t.Fatalf("%v: f*(%v) = %v below the tangent at %v: %v", d, w, fw, u, line)
		}
	})
}

func ExampleDivergence() {
	p, q := []float64{.5, .5}, []float64{.75, .25}
	for _, d := range fdiv.All() {
		var v float64 // D_f(P‖Q)
		for i, w := range q {
			v += w * d.F(p[i]/w)
		}
		fmt.Printf("%-10v D = %7.4f   M(−½) = %.4f\n", d, v, d.Compatibility(-.5))
	}
	// Output:
	// kl         D =  0.1438   M(−½) = 0.2231
	// reverse-kl D =  0.1308   M(−½) = 2.0000
	// pearson    D =  0.3333   M(−½) = 0.7500
	// chi2       D =  0.3333   M(−½) = 0.0000
	// hellinger  D =  0.0681   M(−½) = 0.4444
	// js         D =  0.0676   M(−½) = 0.4353
	// gan        D = -1.3187   M(−½) = 1.5415
}
