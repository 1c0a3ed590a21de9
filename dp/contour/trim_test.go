package contour

import (
	"context"
	"math"
	"testing"

	"coupling/dp/pair"
	"coupling/lab/must"
)

// Leaving components out moves neither δ nor ε by more than is allowed for, and some are left out.
func TestTrimmed(t *testing.T) {
	for _, c := range []struct {
		scale, rate       float64
		inserted, removed int
		times             int
	}{{8, 0.02, 0, 32, 1000}, {7, 0.015, 0, 32, 500}} {
		pr := must.Get(pair.Poisson(pair.Gaussian, c.scale, c.rate, c.inserted, c.removed))
		steps := []pair.Step{{Pair: pr, Times: c.times}}
		a := Accountant{}
		for _, eps := range []float64{0.5, 2} {
			few := must.Get(a.parts(steps, trimAt(steps, eps)))
			if !trimmed(few) {
				t.Fatalf("%+v: nothing is left out", c)
			}
			got, err := a.LogDelta(steps, eps)
			if err != nil {
				t.Errorf("%+v: %v", c, err)
				continue
			}
			all := must.Get(a.parts(steps, pair.NoTrim))
			at := must.Get(a.saddle(all, eps, 0))
			full, err := newContour(t.Context(), all, at, eps, 1e-11, 1e9)
			if err != nil {
				t.Logf("%+v: all components: %v", c, err)
				continue
			}
			lo, hi := full.log(eps)
			if got.Lower > hi || got.Upper < lo || got.Upper-got.Lower > 1e-10 {
				t.Errorf("%+v at ε = %v: log δ in %v, with all components in [%v, %v]", c, eps, got, lo, hi)
			}
			want := math.Exp((lo + hi) / 2)
			if v, err := a.Bound(context.Background(), steps, pair.EpsilonAt(want)); err != nil ||
				v.Lower > eps*(1+1e-9) || v.Upper < eps*(1-1e-9) {
				t.Errorf("%+v at δ = %v: ε in %v, want %v: %v", c, want, v, eps, err)
			}
		}
	}
}

// Draws with replacement have hundreds of components, of which the last holds the forgotten rest,
// far out: with it the moments are out of range.
func TestDrawsWithReplacement(t *testing.T) {
	w := pair.Binomial(5000, 1e-4)
	pr := must.Get(pair.Shifted(pair.Gaussian, 2, w, w))
	v, err := Accountant{}.Bound(context.Background(), []pair.Step{{Pair: pr, Times: 100}}, pair.EpsilonAt(1e-6))
	if err != nil || v.Upper-v.Lower > 1e-10*v.Upper || v.Lower < 0.9*v.Upper {
		t.Errorf("ε in %v: %v", v, err)
	}
	t.Log(v)
}

// Where no more need be known than that ε is above Far, the answer still encloses it, and ends above Far
// only where ε does.
func TestFarEncloses(t *testing.T) {
	for _, c := range []struct {
		scale, rate  float64
		group, times int
		ends         bool
	}{{1, .02, 32, 300, true}, {5, .1, 32, 300, true}, {8, .02, 200, 300, true}, {16, .001, 1000, 1000, false}} {
		pr := must.Get(pair.Poisson(pair.Gaussian, c.scale, c.rate, 0, c.group))
		steps := []pair.Step{{Pair: pr, Times: c.times}}
		q := pair.EpsilonAt(1e-5)
		want := must.Get(Accountant{}.Bound(t.Context(), steps, q))
		q.Far = 20
		got, err := Accountant{}.Bound(t.Context(), steps, q)
		if err != nil || got.Lower > want.Upper || got.Upper < want.Lower || (got.Upper == math.MaxFloat64) != c.ends {
			t.Errorf("%+v: ε in %v, where %v above is far: %v; is in %v", c, got.Interval, q.Far, err, want.Interval)
		}
	}
}
