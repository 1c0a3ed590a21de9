package rdp_test

import (
	"errors"
	"math"
	"testing"

	"coupling/dp"
	"coupling/dp/closed"
	"coupling/dp/dptest"
	"coupling/dp/pair"
	"coupling/dp/rdp"
	"coupling/lab/must"
)

func TestConformance(t *testing.T) {
	dptest.Run(t, dptest.Subject{Accountant: rdp.Accountant{}})
}

func repeat(p pair.Pair, n int) []pair.Step { return []pair.Step{{Pair: p, Times: n}} }

func gaussian(sigma float64, times int) []pair.Step {
	return repeat(must.Get(pair.Poisson(pair.Gaussian, sigma, 1, 0, 1)), times)
}

// For the unsampled Gaussian ρ(α) = aα with a = T/2σ², and the classical conversion is a + 2√(a log
// 1/δ) at α = 1 + √(log(1/δ)/a).
func TestClassical(t *testing.T) {
	for _, c := range []struct {
		sigma, delta float64
		times        int
	}{{1, 1e-5, 1}, {50, 1e-9, 1000}, {1e-2, 1e-5, 100}, {1e6, 1e-200, 1}} {
		r, err := rdp.Accountant{Conversion: rdp.Classical}.Search(t.Context(), gaussian(c.sigma, c.times),
			pair.EpsilonAt(c.delta))
		a := float64(c.times) / (2 * c.sigma * c.sigma)
		l := -math.Log(c.delta)
		want, order := a+2*math.Sqrt(a*l), 1+math.Sqrt(l/a)
		if err != nil || math.Abs(r.Upper/want-1) > 1e-9 || math.Abs((r.Order-1)/(order-1)-1) > 1e-3 {
			t.Errorf("%+v: %+v, %v; want %v at %v", c, r, err, want, order)
		}
	}
}

// The search must find what a scan of orders in steps of 1% finds, and at a kink a little more.
func TestSearch(t *testing.T) {
	p := must.Get(pair.Poisson(pair.Gaussian, 1, 1e-3, 0, 2))
	for _, times := range []int{1, 1000, 1_000_000} {
		steps := repeat(p, times)
		got := must.Get(rdp.Accountant{}.Search(t.Context(), steps, pair.EpsilonAt(1e-7)))
		var orders []float64
		for b := 0.1; b < 1e4; b *= 1.01 {
			orders = append(orders, 1+b)
		}
		scan, err := rdp.Accountant{Orders: orders}.Search(t.Context(), steps, pair.EpsilonAt(1e-7))
		if err != nil || got.Upper > scan.Upper*(1+1e-10) || got.Upper < scan.Upper*(1-5e-3) {
			t.Errorf("T=%d: search %+v, scan %+v (%v)", times, got, scan, err)
		}
	}
}

// A grid may end too early: dp_accounting's paper and Opacus stop at order 64: for small ε that is not enough.
func TestEdge(t *testing.T) {
	p := must.Get(pair.Poisson(pair.Gaussian, 5, 1e-3, 0, 1))
	steps := repeat(p, 1000)
	grid, err := rdp.Accountant{Orders: []float64{1.5, 2, 4, 8, 16, 32, 64}}.Search(t.Context(), steps,
		pair.EpsilonAt(1e-6))
	if err != nil || grid.Order != 64 {
		t.Errorf("grid: %+v, %v", grid, err)
	}
	free, err := rdp.Accountant{}.Search(t.Context(), steps, pair.EpsilonAt(1e-6))
	if err != nil || free.Upper > grid.Upper/4 {
		t.Errorf("free search %+v, %v; grid %+v", free, err, grid)
	}
}

// Moments that exist only near order 1, or not at all.
func TestInfinite(t *testing.T) {
	p := must.Get(pair.NewDiscrete([]float64{0.5, 0.4, 0.1}, []float64{0.6, 0.4, 0}))
	if r, err := (rdp.Accountant{}).Search(t.Context(), repeat(p, 1),
		pair.EpsilonAt(1e-3)); !errors.Is(err, pair.ErrUnbounded) {
		t.Errorf("an infinite loss: %+v, %v", r, err)
	}
	if r, err := (rdp.Accountant{}).Search(t.Context(), repeat(p, 1),
		pair.DeltaAt(1)); err != nil || r.Upper < .1 || r.Upper > .1*(1+1e-9) {
		t.Errorf("δ of an infinite loss: %+v, %v", r, err)
	}
}

// Orders beyond 1e11, where the conversion's terms are large: near the end of a bounded loss ε is
// not below the exact one.
func TestLargeOrders(t *testing.T) {
	p := must.Get(pair.RandomizedResponse(0.8421532904849478, 0, 2.4451510354634377e-05))
	steps := repeat(p, 1)
	exact := must.Get(closed.Accountant{}.Bound(t.Context(), steps, pair.EpsilonAt(1.433407206870778e-12)))
	if got, err := (rdp.Accountant{}).Search(t.Context(), steps, pair.EpsilonAt(1.433407206870778e-12)); err != nil ||
		got.Upper < exact.Lower {
		t.Errorf("%+v, %v; exact %v", got, err, exact)
	}
}

func TestBadOrders(t *testing.T) {
	for _, order := range []float64{1, 0, -2, math.NaN(), math.Inf(1)} {
		if _, err := (rdp.Accountant{Orders: []float64{2, order}}).
			Search(t.Context(), gaussian(1, 1), pair.EpsilonAt(1e-5)); !errors.Is(err, pair.ErrParameter) {
			t.Errorf("order %v: %v", order, err)
		}
	}
}

// A mass of infinite loss is set aside as a part of δ: Rényi divergences compose with (ε, δ), never below the truth.
func TestInfiniteLossIsPartOfDelta(t *testing.T) {
	rho, approximate := 1/(2*25.), dp.Approximate{Epsilon: .1, Delta: 1e-9}
	e := dp.Compose{dp.Repeat{Times: 10, Event: dp.ZCDP{Rho: rho}}, dp.Repeat{Times: 3, Event: approximate}}
	truth := must.Get(dp.Epsilon(t.Context(), dp.Compose{dp.Repeat{Times: 10, Event: dp.Gaussian{NoiseMultiplier: 5}},
		dp.Repeat{Times: 3, Event: approximate}}, dp.Relation{}, 1e-6))
	g, err := dp.Epsilon(t.Context(), e, dp.Relation{}, 1e-6)
	if err != nil || g.Epsilon < truth.Epsilon || g.Epsilon > truth.Epsilon*1.25 || g.Accountant != "rdp" {
		t.Errorf("%v, %v; of the Gaussian %v", g, err, truth)
	}
	// All of P where Q has nothing, whose sum is rounded up: δ is 1 and no ε has less.
	lost := must.Get(pair.NewDiscrete([]float64{.5, .5, 0}, []float64{0, 0, 1}))
	if got, err := (rdp.Accountant{}).Bound(t.Context(), repeat(lost, 2),
		pair.DeltaAt(1)); err != nil || got.Upper != 1 {
		t.Errorf("all lost: %v, %v; want 1", got, err)
	}
	if got, err := (rdp.Accountant{}).Bound(t.Context(), repeat(lost, 2),
		pair.EpsilonAt(.5)); !errors.Is(err, pair.ErrUnbounded) {
		t.Errorf("all lost: %v, %v; want ErrUnbounded", got, err)
	}
	// Two points and an infinite loss, twice, by enumeration.
	p, q := []float64{.6, .39, .01}, []float64{.5, .5, 0}
	d := must.Get(pair.NewDiscrete(p, q))
	steps := repeat(d, 2)
	for _, eps := range []float64{0, .1, .2, .36, 1} {
		want := 0.0
		for i := range p {
			for j := range p {
				want += max(0, p[i]*p[j]-math.Exp(eps)*q[i]*q[j])
			}
		}
		got, err := rdp.Accountant{}.Bound(t.Context(), steps, pair.DeltaAt(eps))
		if err != nil || got.Upper < want || got.Upper > 3*want+.3 {
			t.Errorf("δ(%v) = %v, %v; it is %v", eps, got, err, want)
		}
		if e, err := (rdp.Accountant{}).Bound(t.Context(), steps, pair.EpsilonAt(got.Upper)); got.Upper < 1 &&
			(err != nil || e.Upper > eps+1e-9) {
			t.Errorf("ε at δ = %v: %v, %v; want %v", got.Upper, e, err, eps)
		}
	}
	if _, err := (rdp.Accountant{}).Bound(t.Context(), steps, pair.EpsilonAt(.0198)); !errors.Is(err,
		pair.ErrUnbounded) {
		t.Errorf("below the infinite loss's: %v", err)
	}
}

// Of order 1 + β, rounded, the moment is divided by no more than the order's own β: at δ < 1e-1 no bound is below ρ.
func TestOrdersNearOne(t *testing.T) {
	for rho := 1e12; rho < 1e25; rho *= 7 {
		steps := repeat(must.Get(pair.Concentrated(rho)), 1)
		eps := must.Get(rdp.Accountant{}.Bound(t.Context(), steps, pair.EpsilonAt(1e-5))).Upper
		delta := must.Get(rdp.Accountant{}.Bound(t.Context(), steps, pair.DeltaAt(rho*(1-1e-6)))).Upper
		if eps < rho || eps > rho*(1+1e-3) || delta < .99 {
			t.Errorf("ρ = %g: ε = %v, δ(ρ) = %v", rho, eps, delta)
		}
	}
}
