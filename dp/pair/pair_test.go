package pair

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	_ "coupling/lab/draws"
	"coupling/lab/logspace"
	"coupling/lab/must"
)

// fixed is one substitution in n of size records without replacement, and draws in n draws.
func fixed(noise Noise, scale float64, n, size int) (*Mixture, error) {
	return Shifted(noise, scale, Hypergeometric(size, 1, n), Hypergeometric(size, 1, n))
}

func draws(noise Noise, scale float64, n, size int) (*Mixture, error) {
	w := Binomial(n, 1/float64(size))
	return Shifted(noise, scale, w, w)
}

// oneExchanged is the tight pair of one exchange in n of size records without replacement.
func oneExchanged(noise Noise, scale float64, n, size int) (Pair, error) {
	half, err := Poisson(noise, scale, float64(n)/float64(size), 0, 1)
	if err != nil {
		return nil, err
	}
	return NewSymmetric(half)
}

// The range of the loss: log(1−r) to +∞ of a Gaussian sample, between the flat ends of a Laplace one.
func TestSupport(t *testing.T) {
	inf, half := math.Inf(1), math.Log(.5)
	for _, c := range []struct {
		noise             Noise
		inserted, removed int
		low, high         float64
	}{
		{Gaussian, 0, 1, half, inf}, {Gaussian, 1, 0, -inf, -half}, {Gaussian, 1, 1, -inf, inf},
		{Gaussian, 0, 3, 3 * half, inf},
		{Laplace, 0, 1, math.Log1p(.5 * math.Expm1(-1)), math.Log1p(.5 * math.Expm1(1))},
	} {
		p := must.Get(Poisson(c.noise, 1, .5, c.inserted, c.removed))
		s := p.Support()
		same := func(a, b float64) bool { return a == b || math.Abs(a-b) < 1e-14 }
		if !same(s.Min, c.low) || !same(s.Max, c.high) {
			t.Errorf("%v: losses in [%v, %v], want [%v, %v]", p, s.Min, s.Max, c.low, c.high)
		}
	}
}

// Integrals are the closed forms where there are some, to a part of their promised error.
func TestIntegratedNoise(t *testing.T) {
	for _, n := range []Noise{Gaussian, Laplace} {
		for _, d := range []float64{-9, -1, -.01, 1e-6, .5, 3, 20} {
			for _, at := range []float64{-40, -3, -.2, 0, .1, 2.5, 19.9, 60} {
				got, want := integrated{n}.gain(at, d), formsOf(n).gain(at, d)
				if got != want && !(math.Abs(got-want) <= integralErr+1e-13*math.Abs(want)) {
					t.Errorf("%v: gain(%v, %v) = %v, want %v", n, at, d, got, want)
				}
			}
		}
	}
}

// drawPair makes any of the pairs of this package, within moderate parameters.
func drawPair(t *rapid.T) Pair {
	noise := rapid.SampledFrom([]Noise{Gaussian, Laplace}).Draw(t, "noise")
	scale := math.Exp(rapid.Float64Range(-1.5, 3).Draw(t, "log scale"))
	rate := math.Exp(rapid.Float64Range(-12, 0).Draw(t, "log rate"))
	var p Pair
	var err error
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		k := rapid.IntRange(0, 4).Draw(t, "inserted")
		p, err = Poisson(noise, scale, rate, k, rapid.IntRange(max(0, 1-k), 4).Draw(t, "removed"))
	case 1:
		p, err = fixed(noise, scale, rapid.IntRange(1, 100).Draw(t, "batch"), 100)
	case 2:
		p, err = draws(noise, scale, rapid.IntRange(1, 30).Draw(t, "batch"), 100)
	case 3:
		p, err = NewNorm(1/scale, rapid.IntRange(1, 40).Draw(t, "dim"), 1, rate)
	case 4:
		p, err = oneExchanged(noise, scale, rapid.IntRange(1, 100).Draw(t, "batch"), 100)
	case 5:
		p, err = RandomizedResponse(rapid.Float64Range(0.5, 1).Draw(t, "truth"), rate, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if rapid.Bool().Draw(t, "swapped") {
		p = p.Swap()
	}
	return p
}

func TestProfileLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPair(t)
		a := rapid.Float64Range(-6, 12).Draw(t, "eps")
		b := a + math.Exp(rapid.Float64Range(-20, 2).Draw(t, "log step"))
		da, db := Delta(p, a), Delta(p, b)
		tol := p.RelErr() + 1e-15
		if da > 0 {
			tol -= 0x1p-52 * math.Log(da) // the exponential of a rounded logarithm
		}
		if math.IsNaN(da) || da < 0 || da > 1 {
			t.Fatalf("%v: δ(%v) = %v", p, a, da)
		}
		if da < -math.Expm1(a)*(1-tol) {
			t.Fatalf("%v: δ(%v) = %v < 1 − e^ε", p, a, da)
		}
		if db > da*(1+2*tol) {
			t.Fatalf("%v: δ(%v) = %v < δ(%v) = %v", p, a, da, b, db)
		}
		// Reflection: H(P‖Q) at e^ε is 1 − e^ε + e^ε H(Q‖P) at e^−ε.
		r := -math.Expm1(a) + math.Exp(a)*Delta(p.Swap(), -a)
		if math.Abs(r-da) > 4*tol*(1+math.Exp(a)) {
			t.Fatalf("%v: δ(%v) = %v, by the swapped pair %v", p, a, da, r)
		}
		// The tails give δ too: P(L > ε) − e^ε Q(L > ε).
		lp, lq := p.LogTails(a)
		if d := math.Exp(lp) - math.Exp(a+lq); math.Abs(d-da) > 4*tol*(1+math.Exp(a)) {
			t.Fatalf("%v: δ(%v) = %v, by tails %v", p, a, da, d)
		}
	})
}

func TestMomentLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPair(t)
		a := 1 + math.Exp(rapid.Float64Range(-6, 5).Draw(t, "log (order-1)"))
		b := a * (1 + rapid.Float64Range(0.01, 2).Draw(t, "step"))
		da, ea := Renyi(p, a)
		db, eb := Renyi(p, b)
		if math.IsNaN(da) || math.IsNaN(db) || da < -ea {
			t.Fatalf("%v: D_%v = %v, D_%v = %v", p, a, da, b, db)
		}
		if da-ea > (db+eb)*(1+1e-12) {
			t.Fatalf("%v: D_%v = %v > D_%v = %v", p, a, da, b, db)
		}
		if hi := p.Support().Max; da-ea > hi*(1+1e-12) {
			t.Fatalf("%v: D_%v = %v above the largest loss %v", p, a, da, hi)
		}
	})
}

// Poisson sampling of a Gaussian at integer orders has a finite sum with positive terms (Mironov, Talwar, Zhang 2019).
func TestMomentBySum(t *testing.T) {
	for _, sigma := range []float64{0.4, 1, 7, 300} {
		for _, r := range []float64{1e-9, 1e-3, 0.3} {
			m := must.Get(Poisson(Gaussian, sigma, r, 0, 1))
			for _, alpha := range []int{2, 3, 17, 150, 1200} {
				s := logspace.Zero()
				for k := 2; k <= alpha; k++ {
					a, _ := math.Lgamma(float64(alpha + 1))
					b, _ := math.Lgamma(float64(k + 1))
					c, _ := math.Lgamma(float64(alpha - k + 1))
					s.Add(a - b - c + float64(k)*math.Log(r) + float64(alpha-k)*math.Log1p(-r) +
						logspace.Expm1(float64(k*(k-1))/(2*sigma*sigma)))
				}
				want := logspace.OnePlusExp(s.Log())
				got, bound := m.LogMoment(float64(alpha))
				// lgamma and the exponents of the sum have relative errors of a few 1e-16.
				if math.Abs(got-want) > bound+2e-12*want {
					t.Errorf("σ=%v r=%v α=%d: %.15g, want %.15g (relative %.2g)", sigma, r, alpha, got, want,
						got/want-1)
				}
			}
		}
	}
}

// Norm noise is a Gamma radius in a uniform direction: the law of the loss must match samples.
func TestNormBySampling(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 200_000
	for _, d := range []int{2, 3, 4, 9} {
		zeta, shift := 1.3, 0.8
		p := must.Get(NewNorm(zeta, d, shift, 1))
		for _, eps := range []float64{-0.5, 0, 0.4, 0.9} {
			hits := 0
			for range n {
				var x, rest, radius float64
				for i := range d {
					g := rng.NormFloat64()
					if i == 0 {
						x = g
					} else {
						rest += g * g
					}
					radius += rng.ExpFloat64() / zeta
				}
				scale := radius / math.Sqrt(x*x+rest)
				x, rest = x*scale, rest*scale*scale
				if zeta*(math.Sqrt(x*x+rest)-math.Sqrt((x-shift)*(x-shift)+rest)) > eps {
					hits++
				}
			}
			_, lq := p.LogTails(eps)
			want := math.Exp(lq)
			if got := float64(hits) / n; math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/n) {
				t.Errorf("d=%d: Q(L > %v) = %v, sampled %v", d, eps, want, got)
			}
		}
	}
}

// The one-dimensional formula of norm noise is Laplace; two dimensions must be between it and three.
func TestNormGrowsWithDimension(t *testing.T) {
	last := math.Inf(1)
	for _, d := range []int{1, 2, 3, 5, 50, 5000} {
		p := must.Get(NewNorm(1, d, 1, 0.3))
		got := Delta(p, 0.05)
		if !(got < last) || got <= 0 {
			t.Errorf("d = %d: δ = %v, one dimension less %v", d, got, last)
		}
		last = got
	}
}

func TestResponseEither(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		truth := rapid.Float64Range(0.5, 1).Draw(t, "truth")
		x, y := rapid.Float64Range(0, 1).Draw(t, "flip P"), rapid.Float64Range(0, 1).Draw(t, "flip Q")
		a := must.Get(RandomizedResponse(truth, x, 0))
		b := must.Get(RandomizedResponse(truth, 0, y))
		m := must.Get(ResponseEither(truth, x, y))
		for eps := -4.0; eps < 4; eps += 0.1 {
			want := max(Delta(a, eps), Delta(b, eps))
			// of three values each is rounded, and so is the log that each is the exponential of
			if got := Delta(m, eps); math.Abs(got-want) > 1e-15*(1+math.Exp(eps)) {
				t.Fatalf("δ(%v) = %v, want %v", eps, got, want)
			}
		}
		p, q := 0.0, 0.0
		for _, a := range m.points {
			p, q = p+a.p.float(), q+a.q.float()
		}
		if math.Abs(p-1) > 1e-14 || math.Abs(q-1) > 1e-14 {
			t.Fatalf("P sums to %v, Q to %v", p, q)
		}
	})
}

func TestWeights(t *testing.T) {
	for _, w := range [][]float64{Binomial(60_000, 1e-5), Binomial(12, 0.3), Hypergeometric(100, 5, 98),
		Hypergeometric(1_000_000, 16, 500)} {
		s := logspace.Zero()
		for _, x := range w {
			s.Add(x)
		}
		if math.Abs(s.Log()) > 1e-13 {
			t.Errorf("weights sum to e^%v", s.Log())
		}
	}
	// One of 16 special records in 500 of a million: 16·500/1e6 to first order; exact by the product formula.
	want := math.Log(16) + math.Log(500) - math.Log(1e6)
	for i := range 15 {
		want += math.Log(1e6-500-float64(i)) - math.Log(1e6-1-float64(i))
	}
	if got := Hypergeometric(1_000_000, 16, 500)[1]; math.Abs(got-want) > 1e-13 {
		t.Errorf("log weight %v, want %v", got, want)
	}
}

func TestBadParameters(t *testing.T) {
	nan := math.NaN()
	bad := []error{
		err2(Poisson(Gaussian, -1, 0.1, 0, 1)), err2(Poisson(Gaussian, nan, 0.1, 0, 1)),
		err2(Poisson(Laplace, 1, 1.5, 0, 1)),
		err2(Poisson(Gaussian, 1, nan, 0, 1)), err2(Poisson(Gaussian, 1, 0.1, 0, 0)),
		err2(Poisson(Gaussian, 1, 0.1, -1, 2)),
		err2(NewNorm(-1, 3, 1, 1)),
		err2(RandomizedResponse(0.4, 0, 1)), err2(NewDiscrete([]float64{0.5}, []float64{1})),
		err2(Poisson(nil, 1, 0.1, 0, 1)),
		err2(NewMixture(Gaussian, 1, []Component{{math.Log(0.5), 0}, {math.Log(0.5), 1}}, []Component{{0, 0.5}})),
	}
	for i, err := range bad {
		if !errors.Is(err, ErrParameter) {
			t.Errorf("case %d: error %v", i, err)
		}
	}
}

func err2[T any](_ T, err error) error { return err }

// Sampling without replacement under substitution is no more private than the removal in it, also where the mass of the
// largest loss is e^−2000.
func TestSymmetricFarOut(t *testing.T) {
	for _, scale := range []float64{1. / 700, 1. / 800, 1. / 2000} {
		half := must.Get(Poisson(Laplace, scale, .5, 0, 1))
		s := must.Get(NewSymmetric(half))
		for _, alpha := range []float64{1.5, 2, 30} {
			want, _ := half.LogMoment(alpha)
			if got, e := s.LogMoment(alpha); got+e < want {
				t.Errorf("scale %v: K(%v) = %v, that of the half is %v", scale, alpha, got, want)
			}
		}
	}
}

// The sum of discrete Gaussians is one, to rounding, from the σ at which gaussianSum says so: by
// convolution of their laws.
func TestGaussianSum(t *testing.T) {
	for _, c := range []struct {
		sigma float64
		n     int
	}{{2, 1}, {2.01, 2}, {2.05, 5}, {3, 16}} {
		got, ok := gaussianSum(c.sigma, c.n, 3)
		one := gaussianLaw(c.sigma, len(got))
		want := one
		for range c.n - 1 {
			want = convolved(want, one, len(got))
		}
		for k := range got {
			if r := got[k].over(want[k]); !ok || math.Abs(r-1) > 1e-12 {
				t.Fatalf("%+v: P(%d) is %v of that of the convolution", c, k, r)
			}
		}
		if rough, _ := gaussianSum(1, 2, 3); math.Abs(rough[1].over(gaussianLaw(math.Sqrt2, 60)[1])-1) < 1e-6 {
			t.Error("at σ = 1 the sum is no discrete Gaussian")
		}
	}
	d := must.Get(DiscreteGaussian(2.5, 1, 1, Binomial(1, 1), Binomial(0, 1)))
	exact := d.(*Discrete)
	power := must.Get(exact.Power(2))
	for _, eps := range []float64{0, .3, 1, 5} {
		if got, want := power.LogDelta(eps), Product(exact, exact).LogDelta(eps); math.Abs(got-want) > 1e-12 {
			t.Errorf("two steps: log δ(%v) = %v, point by point %v", eps, got, want)
		}
	}
}

// Ratios that may be off by more than NewDiscrete forgives are moved by as much, and no more is refused.
func TestEncloseMovesRatios(t *testing.T) {
	const off = 1e-6
	law := Ratios{X: []float64{.5, 1.5}, Q: []float64{.5, .5}}
	e := must.Get(Enclose(law, law, Support{Min: math.Log(.4), Max: math.Log(1.6)}, Rounding{Ratio: off}))
	under, _ := Under(e)
	for _, eps := range []float64{-.3, 0, .3} {
		want := .5 * (max(0, 1.5-math.Exp(eps)) + max(0, .5-math.Exp(eps)))
		if hi, lo := Delta(e, eps), Delta(under, eps); hi < want || lo > want || hi-lo > 4*off {
			t.Errorf("δ(%v) in [%v, %v], want %v", eps, lo, hi, want)
		}
	}
	law.Q[1] = .5 + 1e-5
	if _, err := Enclose(law, law, Support{Min: math.Log(.4), Max: math.Log(1.6)}, Rounding{Ratio: off}); err == nil {
		t.Error("mass 1 + 1e-5 passed")
	}
}

// Of moments that are all 0 the bound for samples is log 3, but for the chance of a sample of two or less: it is not
// below that at orders whose factorials have few digits left.
func TestSampledMomentsAreRoundedUp(t *testing.T) {
	for alpha := 500; alpha <= 10_000; alpha += 97 {
		for _, rate := range []float64{.5, .9} {
			got := SampledMoment(func(float64) float64 { return 0 }, rate, alpha, 3)
			if got < math.Log(3) || got > math.Log(3)*(1+2e-10) {
				t.Errorf("order %d at rate %v: %v", alpha, rate, got)
			}
		}
	}
}
