package contour_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"coupling/dp/contour"
	"coupling/dp/pair"
	"coupling/lab/must"

	"pgregory.net/rapid"
)

func poisson(sigma, rate float64, inserted, removed int) pair.Pair {
	p := must.Get(pair.Poisson(pair.Gaussian, sigma, rate, inserted, removed))
	return p
}

func gaussian(sigma float64) pair.Pair {
	p := must.Get(pair.NewMixture(pair.Gaussian, sigma, []pair.Component{{Mean: 1}}, []pair.Component{{}}))
	return p
}

func repeat(p pair.Pair, n int) []pair.Step { return []pair.Step{{Pair: p, Times: n}} }

func TestSavedReferences(t *testing.T) {
	checkRefs(t, readRefs(t, "testdata/composed.json"))
}

// A composition of Gaussians is a Gaussian: δ is that of one step with noise σ/√T, which package pair knows to
// RelErr; the bounds must be as narrow as Tol plus the rounding of T·K.
func TestGaussianComposition(t *testing.T) {
	for _, sigma := range []float64{0.1, 1, 50, 1e4} {
		for _, n := range []int{1, 2, 1000, 1e9} {
			eff := sigma / math.Sqrt(float64(n))
			if eff < 1e-3 {
				continue
			}
			one := gaussian(eff)
			mean := 0.5 / (eff * eff)
			for _, z := range []float64{-1, 0, 1, 4, 12} {
				eps := mean + z/eff
				want := one.LogDelta(eps)
				got, err := contour.Accountant{}.LogDelta(repeat(gaussian(sigma), n), eps)
				if err != nil {
					t.Errorf("σ=%v T=%d ε=%v: %v", sigma, n, eps, err)
					continue
				}
				// ε carries a rounding of its own, which δ feels with slope about ε−mean over variance.
				tol := one.RelErr() + 4e-16*(math.Abs(eps)+mean)*(1+(math.Abs(z)+1)*eff+1) + 1e-15*mean
				if got.Lower > want+tol || got.Upper < want-tol ||
					got.Upper-got.Lower > 1e-10+1e-13*(mean+math.Abs(want)) {
					t.Errorf("σ=%v T=%d ε=%v: log δ in [%v, %v] (width %.2g), want %v", sigma, n, eps, got.Lower,
						got.Upper, got.Upper-got.Lower, want)
				}
			}
		}
	}
}

// One step is the profile of the pair. Few steps decay slowly, so that wide bounds are asked for.
func TestOneStep(t *testing.T) {
	certified := 0
	for _, sigma := range []float64{0.7, 1, 3} {
		if testing.Short() && sigma == 1 {
			continue
		}
		for _, rate := range []float64{0.1, 0.5} {
			p := poisson(sigma, rate, 0, 1)
			for _, dir := range []pair.Pair{p, p.Swap()} {
				for _, eps := range []float64{-0.3, 0, 0.2, 0.8} {
					want := dir.LogDelta(eps)
					if want < -30 {
						continue
					}
					got, err := contour.Accountant{Tol: 1e-3}.LogDelta(repeat(dir, 1), eps)
					if err != nil {
						if !errors.Is(err, contour.ErrDecay) && !errors.Is(err, contour.ErrCost) {
							t.Errorf("σ=%v q=%v ε=%v: %v", sigma, rate, eps, err)
						}
						continue
					}
					certified++
					if got.Lower > want+1e-11 || got.Upper < want-1e-11 {
						t.Errorf("σ=%v q=%v ε=%v: log δ in [%v, %v], want %v", sigma, rate, eps, got.Lower,
							got.Upper, want)
					}
				}
			}
		}
	}
	if certified < 10 {
		t.Errorf("only %d single steps were certified", certified)
	}
}

// ε(δ) inverts δ(ε): the bounds of δ at the bounds of ε enclose δ.
func TestInverse(t *testing.T) {
	for _, delta := range []float64{0.3, 1e-3, 1e-10, 1e-60, 1e-200} {
		for _, terms := range [][]pair.Step{
			repeat(poisson(1.1, 0.01, 0, 1), 10_000),
			repeat(poisson(2, 0.2, 1, 1), 300),
			{{Pair: poisson(0.8, 0.004, 1, 0), Times: 15_000}, {Pair: gaussian(5), Times: 3}},
		} {
			a := contour.Accountant{}
			b, err := a.Bound(context.Background(), terms, pair.EpsilonAt(delta))
			if err != nil {
				t.Errorf("δ=%v: %v", delta, err)
				continue
			}
			if !(b.Lower <= b.Upper) || b.Upper-b.Lower > 1e-6*b.Upper {
				t.Errorf("δ=%v: ε in [%v, %v]", delta, b.Lower, b.Upper)
			}
			at, err := a.LogDelta(terms, b.Upper)
			if err != nil || at.Lower > math.Log(delta) {
				t.Errorf("δ=%v: log δ(%v) in %v, %v", delta, b.Upper, at, err)
			}
			if at, err = a.LogDelta(terms, b.Lower); err != nil || at.Upper < math.Log(delta) {
				t.Errorf("δ=%v: log δ(%v) in %v, %v", delta, b.Lower, at, err)
			}
		}
	}
}

// Composition does not depend on order, nor on how equal terms are grouped, and more steps are no more private.
func TestComposition(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := poisson(rapid.Float64Range(0.8, 4).Draw(rt, "σ"), rapid.Float64Range(0.01, 0.3).Draw(rt, "q"), 0,
			rapid.IntRange(1, 3).Draw(rt, "K"))
		b := gaussian(rapid.Float64Range(2, 20).Draw(rt, "τ"))
		n, m := rapid.IntRange(200, 100_000).Draw(rt, "n"), rapid.IntRange(1, 20).Draw(rt, "m")
		delta := math.Exp(-rapid.Float64Range(3, 60).Draw(rt, "-log δ"))
		eps := func(terms ...pair.Step) pair.Interval {
			v, err := contour.Accountant{}.Bound(context.Background(), terms, pair.EpsilonAt(delta))
			if err != nil {
				rt.Skip(err)
			}
			return v.Interval
		}
		x := eps(pair.Step{Pair: a, Times: n}, pair.Step{Pair: b, Times: m})
		y := eps(pair.Step{Pair: b, Times: m}, pair.Step{Pair: a, Times: n / 3}, pair.Step{Pair: a, Times: n - n/3})
		if x.Lower > y.Upper || y.Lower > x.Upper {
			rt.Errorf("order matters: %v and %v", x, y)
		}
		if z := eps(pair.Step{Pair: a, Times: n + 1}, pair.Step{Pair: b, Times: m}); z.Upper < x.Lower {
			rt.Errorf("one step more: %v after %v", z, x)
		}
		if z := eps(pair.Step{Pair: a, Times: n}); z.Lower > x.Upper {
			rt.Errorf("fewer steps: %v above %v", z, x)
		}
	})
}

func TestRefusals(t *testing.T) {
	laplace := must.Get(pair.Poisson(pair.Laplace, 1, 0.1, 0, 1))
	rr := must.Get(pair.RandomizedResponse(0.75, 0, 1))
	g := gaussian(1)
	for _, c := range []struct {
		terms []pair.Step
		delta float64
		a     contour.Accountant
		want  error
	}{
		{terms: repeat(laplace, 10), delta: 1e-5, want: contour.ErrAtoms},
		{terms: repeat(rr, 10), delta: 1e-5, want: contour.ErrAtoms},
		{terms: []pair.Step{{Pair: g, Times: 1}, {Pair: rr, Times: 1}}, delta: 1e-5, want: contour.ErrAtoms},
		{terms: repeat(poisson(0.5, 1e-9, 0, 1), 3), delta: 1e-30, want: contour.ErrDecay},
		{terms: nil, delta: 1e-5, want: pair.ErrParameter},
		{terms: repeat(nil, 1), delta: 1e-5, want: pair.ErrParameter},
		{terms: repeat(g, 0), delta: 1e-5, want: pair.ErrParameter},
		{terms: repeat(g, -3), delta: 1e-5, want: pair.ErrParameter},
		{terms: repeat(g, 1), delta: 0, want: pair.ErrNotApplicable},
		{terms: repeat(g, 1), delta: 1, want: pair.ErrParameter},
		{terms: repeat(g, 1), delta: math.NaN(), want: pair.ErrParameter},
		{terms: repeat(g, 1), delta: 1e-5, a: contour.Accountant{Tol: math.NaN()}, want: pair.ErrParameter},
	} {
		b, err := c.a.Bound(context.Background(), c.terms, pair.EpsilonAt(c.delta))
		if !errors.Is(err, c.want) {
			t.Errorf("%v, δ=%v: got %v, %v; want %v", c.terms, c.delta, b, err, c.want)
		}
	}
	for _, eps := range []float64{math.NaN(), math.Inf(1)} {
		if _, err := (contour.Accountant{}).Bound(context.Background(), repeat(g, 1),
			pair.DeltaAt(eps)); !errors.Is(err, pair.ErrParameter) {
			t.Errorf("ε=%v: %v", eps, err)
		}
	}
}

// FuzzSafe tries extreme parameters: an answer must lie between bounds that hold of any
// composition. From below, T steps reveal at least what one reveals; from above, Chernoff's bound
// from the log-moments of package pair.
func FuzzSafe(f *testing.F) {
	f.Add(1.5, 1.0/1200, 160_000, 11.5, uint8(0))
	f.Add(0.4, 1e-3, 1000, 11.5, uint8(0))
	f.Add(4.0, 3.3e-4, 10_000, 41.3, uint8(0))
	f.Add(1e-3, 0.5, 1, 11.0, uint8(1))
	f.Add(1e6, 1e-12, 1_000_000_000, 460.0, uint8(2))
	f.Add(1.0, 1e-12, 1_000_000_000, 14.0, uint8(3))
	f.Add(0.01, 1.0, 1_000_000_000, 460.0, uint8(0))
	f.Add(5.0, 1e-3, 1000, 14.0, uint8(0xF0))
	f.Fuzz(func(t *testing.T, sigma, rate float64, times int, logDelta float64, shape uint8) {
		if !(sigma >= 1e-3 && sigma <= 1e6 && rate >= 1e-12 && rate <= 1 && times >= 1 && times <= 1e9 &&
			logDelta > 0.01 && logDelta < 461) {
			t.Skip()
		}
		p, err := pair.Poisson(pair.Gaussian, sigma, rate, int(shape>>2)&3, 1+int(shape>>4))
		if err != nil {
			t.Skip()
		}
		pr := pair.Pair(p)
		if shape&1 == 1 {
			pr = p.Swap()
		}
		a := contour.Accountant{Work: 1e6}
		b, err := a.Bound(context.Background(), repeat(pr, times), pair.EpsilonAt(math.Exp(-logDelta)))
		if err != nil {
			for _, e := range []error{contour.ErrDecay, contour.ErrCost, contour.ErrUnsupported} {
				if errors.Is(err, e) {
					return
				}
			}
			t.Fatal(err)
		}
		if !(b.Lower >= 0 && b.Lower <= b.Upper) || math.IsInf(b.Upper, 0) {
			t.Fatalf("ε in %v", b)
		}
		if one := pr.LogDelta(b.Upper); one > -logDelta+1e-9*logDelta+pr.RelErr() {
			t.Errorf("ε = %v is too small: one step has log δ = %v > %v", b.Upper, one, -logDelta)
		}
		for _, order := range []float64{1.01, 1.5, 2, 5, 20, 100, 1000} {
			k, e := pr.LogMoment(order)
			s := order - 1
			chernoff := float64(times)*(k+e) - s*b.Lower - s*math.Log1p(1/s) - math.Log1p(s)
			if b.Lower > 0 && chernoff < -logDelta-1e-9*(logDelta+math.Abs(float64(times)*k)) {
				t.Errorf("ε ≥ %v is too large: Chernoff's bound of log δ is %v at order %v", b.Lower, chernoff, order)
			}
		}
	})
}

func ExampleAccountant_Bound() {
	p, err := pair.Poisson(pair.Gaussian, 1.5, 1.0/1200, 0, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	removed, _ := contour.Accountant{}.Bound(context.Background(), repeat(p, 160_000),
		pair.EpsilonAt(1e-5))
	inserted, _ := contour.Accountant{}.Bound(context.Background(), repeat(p.Swap(), 160_000),
		pair.EpsilonAt(1e-5))
	fmt.Printf("%.9f %.9f, width below 1e-11: %v\n", removed.Upper, inserted.Upper, removed.Upper-removed.Lower < 1e-11)
	// Output: 0.927491105 0.919190707, width below 1e-11: true
}

func ExampleAccountant_Bound_delta() {
	p, err := pair.Poisson(pair.Gaussian, 1.1, 0.01, 0, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := contour.Accountant{}.Bound(context.Background(), repeat(p, 10_000), pair.DeltaAt(20))
	fmt.Printf("%.6e %v\n", b.Upper, err)
	// Output: 1.633538e-50 <nil>
}

func BenchmarkEpsilon(b *testing.B) {
	group, err := pair.Poisson(pair.Gaussian, 5, 1e-3, 0, 16)
	if err != nil {
		b.Fatal(err)
	}
	sgd := poisson(1.5, 1.0/1200, 0, 1)
	for _, c := range []struct {
		name  string
		terms []pair.Step
		delta float64
	}{
		{"sgd/T=160000", repeat(sgd, 160_000), 1e-5},
		{"sgd/T=85000000", repeat(sgd, 85_000_000), 1e-5},
		{"group16/T=1000", repeat(group, 1000), 1e-6},
		{"sgd/T=10000/delta=1e-200", repeat(poisson(1.1, 0.01, 0, 1), 10_000), 1e-200},
		{"hetero/10", func() (out []pair.Step) {
			for i := range 10 {
				out = append(out, pair.Step{Pair: poisson(1+0.1*float64(i), 0.01, 0, 1), Times: 1000})
			}
			return out
		}(), 1e-5},
		{"sparse/T=1000", repeat(poisson(0.4, 1e-3, 0, 1), 1000), 1e-5},
	} {
		b.Run(c.name, func(b *testing.B) {
			var e pair.Answer
			for b.Loop() {
				var err error
				if e, err = (contour.Accountant{}).
					Bound(context.Background(), c.terms, pair.EpsilonAt(c.delta)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(-math.Log10((e.Upper-e.Lower)/e.Upper), "digits")
		})
	}
}
