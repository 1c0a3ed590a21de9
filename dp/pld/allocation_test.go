package pld_test

import (
	"math"
	"testing"

	"coupling/dp/pair"
	"coupling/dp/pld"
	"coupling/lab/must"
)

// One of three steps of a mechanism on three points, one of which P alone has, by enumeration: the
// pair encloses δ at every ε, in both directions, and closely.
func TestAllocatedByEnumeration(t *testing.T) {
	p, q := []float64{.5, .3, .19, .01}, []float64{.2, .3, .5, 0}
	one := must.Get(pair.NewDiscrete(p, q))
	e := must.Get(pld.Allocated(one, 3, pld.FineLaw))
	for _, eps := range []float64{-1, -.2, 0, .1, .3, .5, .7, .9} {
		remove, add := 0.0, 0.0
		for k := range 64 {
			i, j, l := k%4, k/4%4, k/16
			a, b := (p[i]*q[j]*q[l]+q[i]*p[j]*q[l]+q[i]*q[j]*p[l])/3, q[i]*q[j]*q[l]
			remove += max(0, a-math.Exp(eps)*b)
			add += max(0, b-math.Exp(eps)*a)
		}
		for i, want := range []float64{remove, add} {
			over := [...]pair.Pair{e, e.Swap()}[i]
			under, enclosed := pair.Under(over)
			lo, hi := pair.Delta(under, eps)*(1-over.RelErr()), pair.Delta(over, eps)*(1+over.RelErr())
			if !enclosed || lo > want*(1+1e-12) || hi < want*(1-1e-12) || hi > want*(1+2e-4) || lo < .99*want-1e-6 {
				t.Errorf("direction %d: δ(%v) in [%.12g, %.12g], is %.12g", i, eps, lo, hi, want)
			}
		}
	}
}

// A Poisson sample at a rate of 1e-6, where rare large losses decide. The truth lies in [.02661,
// .02664] (allocation.md).
func TestRareSamples(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	g, err := pld.Accountant{}.Bound(t.Context(), repeat(poisson(pair.Gaussian, .5, 1e-6, 0, 1), 1_000_000),
		pair.EpsilonAt(1e-5))
	if err != nil || g.Upper < .02661 || g.Lower > .02664 || g.Upper-g.Lower > 2e-3*g.Upper {
		t.Errorf("%v, %v", g, err)
	}
}

// Losses of thousands leave the range of products of laws, which are then refused: the answer is that of the grid.
func TestLargeLosses(t *testing.T) {
	for _, sigma := range []float64{.0256, .1, .25} {
		g, err := pld.Accountant{}.Bound(t.Context(), repeat(poisson(pair.Gaussian, sigma, .04, 0, 1), 2250),
			pair.EpsilonAt(1e-5))
		if err != nil || !(g.Upper < 2250*(9/sigma+1/(2*sigma*sigma))) || !(g.Lower <= g.Upper) {
			t.Errorf("σ = %v: %v, %v", sigma, g, err)
		}
	}
}
