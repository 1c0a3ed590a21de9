package contour

import (
	"math"
	"math/cmplx"
	"testing"

	"coupling/dp/pair"
	_ "coupling/lab/draws"
	"coupling/lab/must"

	"pgregory.net/rapid"
)

// drawScaled draws a pair of mixtures in normal form.
func drawScaled(t *rapid.T) *scaled {
	sigma := math.Exp(rapid.Float64Range(-1, 2).Draw(t, "log σ"))
	rate := math.Exp(rapid.Float64Range(-9, -0.1).Draw(t, "log q"))
	p, err := pair.Poisson(pair.Gaussian, sigma, rate, rapid.IntRange(0, 3).Draw(t, "K+"),
		rapid.IntRange(1, 4).Draw(t, "K-"))
	if err != nil {
		t.Skip(err)
	}
	pr := pair.Pair(p)
	if rapid.Bool().Draw(t, "swap") {
		pr = p.Swap()
	}
	s := must.Get(newScaled(pr, pair.NoTrim))
	return s
}

// A line's K(z) agrees with that of a line ten times as fine, which has a different strip error, different nodes and
// longer ends, within the sum of what both claim.
func TestLineErrorBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := drawScaled(t)
		s := math.Exp(rapid.Float64Range(-3, 4).Draw(t, "log s"))
		y := rapid.Float64Range(0, 60).Draw(t, "y")
		a, err := newLine(sc, s, y, 12, 0)
		if err != nil {
			t.Skip(err)
		}
		b, err := newLine(sc, s, y, 60, 10*len(a.p))
		if err != nil {
			t.Skip(err)
		}
		for _, z := range []complex128{complex(s, y), complex(s, 0), complex(s, y/2)} {
			ka, ea, ta := a.at(z)
			kb, eb, tb := b.at(z)
			// In units of M(s), as the errors may exceed M(z) itself.
			if real(kb) > ta+eb {
				t.Errorf("s=%v y=%v: Re K = %v above its bound %v", s, imag(z), real(kb), ta)
			}
			ma, mb := cmplx.Exp(ka-complex(b.k0, 0)), cmplx.Exp(kb-complex(b.k0, 0))
			diff := cmplx.Abs(ma - mb)
			if d := kb - ka; cmplx.Abs(d) < 0.1 {
				// M(z) is near 1 where K is small: the difference of K keeps the digits that M's rounding loses.
				diff = cmplx.Abs(ma) * math.Hypot(math.Expm1(real(d)), 2*math.Exp(real(d)/2)*math.Sin(imag(d)/2))
			}
			ea, eb = ea*cmplx.Abs(ma), eb*cmplx.Abs(mb)
			if mb == 0 { // the sum is lost in its errors, which top still bounds
				eb = math.Exp(tb - b.k0)
			}
			if ma == 0 {
				ea = math.Exp(ta - b.k0)
			}
			if !(diff <= (ea+eb)*1.01) {
				t.Errorf("s=%v y=%v near=%v: K = %v and %v differ by %.3g, claimed %.3g and %.3g (%d and %d nodes)", s,
					imag(z), a.near, ka, kb, diff, ea, eb, len(a.p), len(b.p))
			}
		}
	})
}

// K on the real axis is the log-moment of package pair.
func TestLineAgainstPair(t *testing.T) {
	for _, c := range []struct{ sigma, rate float64 }{{1.5, 1.0 / 1200}, {0.5, 0.2}, {4, 1e-6}} {
		p := must.Get(pair.Poisson(pair.Gaussian, c.sigma, c.rate, 0, 2))
		for _, pr := range []pair.Pair{p, p.Swap()} {
			sc := must.Get(newScaled(pr, pair.NoTrim))
			for _, s := range []float64{0.01, 0.5, 3, 20} {
				l := must.Get(newLine(sc, s, 0, 40, 0))
				want, e := pr.LogMoment(1 + s)
				if math.Abs(l.k0-want) > l.e0+e {
					t.Errorf("%v s=%v: K = %v ± %.2g, pair has %v ± %.2g", pr, s, l.k0, l.e0, want, e)
				}
			}
		}
	}
}

// The bounds of |φ| over an interval hold at points of it.
func TestDecayIsAnUpperBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := drawScaled(t)
		s := math.Exp(rapid.Float64Range(-3, 3).Draw(t, "log s"))
		a := math.Exp(rapid.Float64Range(-4, 5).Draw(t, "log y"))
		b := a * rapid.Float64Range(1, 1.5).Draw(t, "ratio")
		coarse, err := newLine(sc, s, 0, 40, rapid.SampledFrom([]int{0, 300, 2000}).Draw(t, "fewest"))
		if err != nil {
			t.Skip(err)
		}
		l, err := newLine(sc, s, 8*b, 40, 0)
		if err != nil {
			t.Skip(err)
		}
		d := newDecay(coarse)
		for _, y := range []float64{a, (a + b) / 2, b, 2 * b, 8 * b} {
			k, e, _ := l.at(complex(s, y))
			got := math.Log(max(0, math.Exp(real(k)-l.k0)*(1-e-2*l.e0)-1e-13))
			bound := d.beyond(a)
			if y <= b {
				bound = d.between(a, b, bound, math.Inf(-1))
			}
			if got > bound+1e-12 {
				t.Errorf("s=%v: log|φ(%v)| = %v above its bound %v on [%v, %v]", s, y, got, bound, a, b)
			}
		}
	})
}
