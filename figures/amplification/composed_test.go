package amplification

import (
	"context"
	"math"
	"testing"

	"coupling/dp"
	"coupling/dp/pair"
	"coupling/dp/pld"
	"coupling/figures/figtest"
	"coupling/lab/must"
)

// gaussianDelta is δ(ε) of N(d, 1) against N(0, 1).
func gaussianDelta(d, eps float64) float64 {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	return phi(d/2-eps/d) - math.Exp(eps)*phi(-d/2-eps/d)
}

// Steps without sampling compose to one Gaussian mechanism with a shift of √T·K/σ.
func TestComposedGaussian(t *testing.T) {
	s := figtest.Store(t)
	for _, k := range []int{1, 4} {
		p := ComposedParams{
			Setting: Mechanism{"gaussian", 20, 1},
			Group:   k,
			Eps:     1,
			Width:   .1,
			Steps:   []int{1, 10, 100, 1000},
		}
		got := do(t, s, composedOf, p)
		for i, steps := range p.Steps {
			want := gaussianDelta(math.Sqrt(float64(steps))*float64(k)/20, 1)
			if want < floor {
				if got.Upper[i] > floor {
					t.Errorf("K = %d, %d steps: δ at most %v, is below %v", k, steps, got.Upper[i], floor)
				}
				continue
			}
			if !(got.Lower[i] <= want*(1+1e-9) && got.Upper[i] >= want*(1-1e-9)) || got.Upper[i] > want*1.1 {
				t.Errorf("K = %d, %d steps: δ in [%v, %v], want %v", k, steps, got.Lower[i], got.Upper[i], want)
			}
		}
	}
}

// One step is the profile's; enclosures are no wider than asked; δ rises with steps and group; no
// split exceeds the worst.
func TestComposedLaws(t *testing.T) {
	s := figtest.Store(t)
	for _, at := range []Mechanism{{"gaussian", 1, .01}, {"laplace", 1, .01}} {
		if testing.Short() && at.Kind == "laplace" {
			continue
		}
		var last []float64
		for _, k := range []int{1, 4} {
			p := ComposedParams{Setting: at, Group: k, Eps: .5, Width: .05, Steps: []int{1, 4, 40, 400, 4000}}
			got := do(t, s, composedOf, p)
			one := do(t, s, profileOf, ProfileParams{at, k, []float64{p.Eps}})
			if want := math.Exp(one.Specific[0]); want > floor && math.Abs(got.Upper[0]/want-1) > 1e-9 {
				t.Errorf("%v, K = %d: one step has δ = %v, want %v", at, k, got.Upper[0], want)
			}
			rising(t, at.String()+": δ over steps", got.Upper, 0)
			atMost(t, at.String()+": lower ends", got.Lower, got.Upper, 0)
			for i, u := range got.Upper {
				// The contour's tolerance is that of its tail; aliases and rounding come on top.
				if u > floor && u > got.Lower[i]*(1+2*p.Width) {
					t.Errorf("%v, K = %d, %d steps: δ in [%v, %v]", at, k, p.Steps[i], got.Lower[i], u)
				}
			}
			if last != nil {
				atMost(t, at.String()+": a smaller group", last, got.Upper, p.Width)
			}
			last = got.Upper
			branches := must.Get(dp.Branches(dp.Repeat{Times: 40, Event: at.event()}, dp.Relation{Group: k}))
			for _, b := range branches {
				v := must.Get(pld.Accountant{Width: .05}.Bound(context.Background(), b.Steps, pair.DeltaAt(p.Eps)))
				if v.Lower > got.Upper[2] {
					t.Errorf("%v: %d of %d removed has δ of at least %v, the worst was said to have %v", at, b.Removed,
						k, v.Lower, got.Upper[2])
				}
			}
		}
	}
}

// What is called negligible has a δ below the bound given for it.
func TestNegligible(t *testing.T) {
	branches := must.Get(dp.Branches(dp.Repeat{Times: 300, Event: Mechanism{"gaussian", 5, .001}.event()},
		dp.Relation{Group: 4}))
	all := []float64{.05, .2, .5, 1}
	if testing.Short() {
		all = all[2:3]
	}
	for _, eps := range all {
		v, ok := negligible(branches, eps)
		if !ok {
			continue
		}
		if !(v.Upper < floor) {
			t.Errorf("ε = %v: δ of at most %v is called negligible", eps, v.Upper)
		}
		for _, b := range branches {
			d := must.Get(pld.Accountant{Bins: 1 << 14}.Bound(context.Background(), b.Steps, pair.DeltaAt(eps)))
			if d.Lower > v.Upper {
				t.Errorf("ε = %v: δ is at least %v, the bound %v", eps, d.Lower, v.Upper)
			}
		}
	}
	if _, ok := negligible(branches, .05); ok {
		t.Error("a δ of some 1e-6 is called negligible")
	}
}

// The post-hoc routes at ε → 0 multiply δ by K; for one record all routes are the same cell.
func TestRoutes(t *testing.T) {
	if w := logWeight(16, 0); math.Abs(w-math.Log(16)) > 1e-14 {
		t.Errorf("log weight at ε = 0: %v, want log 16", w)
	}
	// Σ_{k<K} e^{kε/K} = (e^ε − 1)/(e^{ε/K} − 1).
	if w, want := logWeight(8, 2), math.Log(math.Expm1(2)/math.Expm1(.25)); math.Abs(w-want) > 1e-14 {
		t.Errorf("log weight: %v, want %v", w, want)
	}
	for _, r := range []route{direct, corrected, asPublished} {
		if k, eps, w := r.at(1, 2); k != 1 || eps != 2 || w != 0 && math.Abs(w) > 1e-15 {
			t.Errorf("%s for one record: K = %d, ε = %v, weight e^%v", r, k, eps, w)
		}
	}
	if k, eps, _ := corrected.at(16, 2); k != 1 || eps != .125 {
		t.Errorf("corrected: K = %d, ε = %v", k, eps)
	}
	if k, eps, _ := asPublished.at(16, 2); k != 16 || eps != .125 {
		t.Errorf("published: K = %d, ε = %v", k, eps)
	}
}

// The steps allowed keep the budget, and one more does not.
func TestAllowed(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of steps composed")
	}
	s := figtest.Store(t)
	p := direct.allowed(Mechanism{"gaussian", 1, .001}, 4, 1, stepsBudget)
	got := do(t, s, allowedOf, p)
	b := math.Exp(p.LogDelta)
	for _, c := range []struct {
		steps int
		keeps bool
	}{{got.Steps, true}, {got.Steps + 1, false}} {
		g := must.Get(dp.EpsilonBy(context.Background(), dp.Best{},
			dp.Repeat{Times: c.steps, Event: p.Setting.event()}, dp.Relation{Group: p.Group}, b))
		if (g.Epsilon <= p.Eps) != c.keeps {
			t.Errorf("%d steps: ε = %v, budget %v", c.steps, g.Epsilon, p.Eps)
		}
	}
}
