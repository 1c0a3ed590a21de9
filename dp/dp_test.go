package dp

import (
	"context"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"coupling/dp/pair"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func epsilon(t interface{ Fatal(...any) }, e Event, r Relation, delta float64) Guarantee {
	g, err := Epsilon(e, r, delta)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestBadParameters(t *testing.T) {
	nan := math.NaN()
	for want, e := range map[string]Event{
		"noise = -1":      Gaussian{-1},
		"noise = NaN":     Poisson{0.1, Gaussian{nan}},
		"noise = 0":       Gaussian{},
		"scale = -2":      Laplace{-2},
		"truth = 0.2":     RandomizedResponse{0.2},
		"zeta = 0":        NormNoise{0, 3},
		"dim = 0":         NormNoise{1, 0},
		"rate = 1.5":      Poisson{1.5, Gaussian{1}},
		"rate = 0":        Poisson{0, Gaussian{1}},
		"rate = NaN":      Poisson{nan, Gaussian{1}},
		"times = 0":       Repeat{0, Gaussian{1}},
		"times = -3":      Repeat{-3, Gaussian{1}},
		"batch = 0":       WithoutReplacement{0, 10, Gaussian{1}},
		"batch = 11":      WithoutReplacement{11, 10, Gaussian{1}},
		"size = 0":        WithReplacement{1, 0, Gaussian{1}},
		"event = nil":     Repeat{2, nil},
		"at least one":    Compose{},
		"removal = nil":   Dominated{},
		"must be at most": WithoutReplacement{10, 10, Gaussian{1}}, // one record less is too few for a batch
	} {
		_, err := Epsilon(e, Relation{}, 1e-5)
		if !errors.Is(err, ErrParameter) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one with %q", e, err, want)
		}
	}
	for _, delta := range []float64{-1, 1, 2, nan} {
		if _, err := Epsilon(Gaussian{1}, Relation{}, delta); !errors.Is(err, ErrParameter) || !strings.Contains(err.Error(), "delta = ") {
			t.Errorf("delta %v: %v", delta, err)
		}
	}
	for _, eps := range []float64{-1, math.Inf(1), nan} {
		if _, err := Delta(Gaussian{1}, Relation{}, eps); !errors.Is(err, ErrParameter) || !strings.Contains(err.Error(), "eps = ") {
			t.Errorf("eps %v: %v", eps, err)
		}
	}
	for _, r := range []Relation{{Group: -1}, {Kind: 9}} {
		if _, err := Epsilon(Gaussian{1}, r, 1e-5); !errors.Is(err, ErrParameter) {
			t.Errorf("relation %v: %v", r, err)
		}
	}
}

func TestNoPair(t *testing.T) {
	g := Gaussian{1}
	own, err := pair.Poisson(pair.Gaussian, 1, 1, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	for part, c := range map[string]struct {
		e Event
		r Relation
	}{
		"3 × Gaussian":  {Poisson{0.1, Repeat{3, g}}, Relation{}},
		"(Gaussian":     {Poisson{0.1, Compose{g, g}}, Relation{}},
		"Poisson(rate":  {WithoutReplacement{1, 10, Poisson{0.1, g}}, Relation{}},
		"NormNoise":     {Poisson{0.1, NormNoise{1, 3}}, Relation{Group: 2}},
		"Dominated":     {Dominated{own}, Relation{Kind: Substitution}},
		"a sample for ": {Poisson{0.1, Dominated{own}}, Relation{}},
	} {
		if _, err := Epsilon(c.e, c.r, 1e-5); !errors.Is(err, ErrNoPair) || !strings.Contains(err.Error(), part) {
			t.Errorf("%v: error %v, want one naming %q", c.e, err, part)
		}
	}
}

// Unbounded at δ = 0, and the sum of the largest losses where they are bounded.
func TestPure(t *testing.T) {
	if _, err := Epsilon(Gaussian{1}, Relation{}, 0); !errors.Is(err, ErrUnbounded) {
		t.Errorf("Gaussian at δ = 0: %v", err)
	}
	g := epsilon(t, Repeat{10, Laplace{2}}, Relation{Group: 3}, 0)
	if math.Abs(g.Epsilon-15) > 1e-11 || g.Epsilon < 15*(1-1e-14) || g.Kind != Exact {
		t.Errorf("10 Laplace mechanisms of scale 2, groups of 3: %v", g)
	}
}

// All the ways to write an event must give the same number.
func TestWaysToWrite(t *testing.T) {
	step := Poisson{0.01, Gaussian{1.3}}
	want := epsilon(t, SGD(1.3, 0.01, 500), Relation{}, 1e-6).Epsilon
	for _, e := range []Event{
		Repeat{100, Repeat{5, step}}, Compose{Repeat{200, step}, Repeat{300, step}}, Repeat{250, Compose{step, step}},
		Repeat{500, Poisson{0.1, Poisson{0.1, Gaussian{1.3}}}},
	} {
		if got := epsilon(t, e, Relation{}, 1e-6).Epsilon; math.Abs(got/want-1) > 1e-10 {
			t.Errorf("%v: ε = %v, want %v", e, got, want)
		}
	}
}

// sgd is DP-SGD drawn at random, with everything that may change.
type sgd struct {
	noise, rate  float64
	steps, group int
	delta        float64
}

func (c sgd) epsilon(t interface{ Fatal(...any) }, a Accountant, r Relation) Guarantee {
	r.Group = c.group
	g, err := EpsilonBy(a, SGD(c.noise, c.rate, c.steps), r, c.delta)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// worse returns compositions whose ε must not be smaller.
func (c sgd) worse() map[string]sgd {
	steps, rate, group, noise, all, delta := c, c, c, c, c, c
	steps.steps += c.steps/2 + 1
	rate.rate *= 1.1
	group.group++
	noise.noise /= 1.1
	all.rate = 1
	delta.delta /= 10
	return map[string]sgd{"more steps": steps, "higher rate": rate, "larger group": group, "less noise": noise, "no sampling": all, "smaller δ": delta}
}

// checkMonotone compares with what must be worse. Upper bounds by the same accountant are ordered too.
func checkMonotone(t interface{ Fatalf(string, ...any) }, what string, base, worse Guarantee) {
	if base.Lower > worse.Epsilon || base.Accountant == worse.Accountant && base.Epsilon > worse.Epsilon*(1+1e-7)+1e-12 {
		t.Fatalf("%v; %s: %v", base, what, worse)
	}
}

func TestMonotoneRDP(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := sgd{
			noise: math.Exp(rapid.Float64Range(-0.5, 2).Draw(t, "log noise")),
			rate:  math.Exp(rapid.Float64Range(-7, -0.1).Draw(t, "log rate")),
			steps: rapid.IntRange(1, 2000).Draw(t, "steps"),
			group: rapid.IntRange(1, 2).Draw(t, "group"),
			delta: math.Exp(rapid.Float64Range(-25, -4).Draw(t, "log delta")),
		}
		worse := c.worse()
		what := rapid.SampledFrom(slices.Sorted(maps.Keys(worse))).Draw(t, "what is worse")
		checkMonotone(t, what, c.epsilon(t, RDP{}, Relation{}), worse[what].epsilon(t, RDP{}, Relation{}))
	})
}

func TestMonotoneBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 8 {
		c := sgd{
			noise: math.Exp(2.5*rng.Float64() - 0.5), rate: math.Exp(-6*rng.Float64() - 1), steps: 500 + rng.IntN(5000),
			group: 1 + rng.IntN(2), delta: math.Exp(-20*rng.Float64() - 4),
		}
		base := c.epsilon(t, Best{}, Relation{})
		for what, w := range c.worse() {
			checkMonotone(t, what, base, w.epsilon(t, Best{}, Relation{}))
		}
		checkMonotone(t, "substitution", base, c.epsilon(t, Best{}, Relation{Kind: Substitution}))
	}
}

// Every mechanism and sampling has a guarantee in every relation that the package says it has: one step by its profile, several by
// moments; and what Delta says at that ε agrees.
func TestEveryEvent(t *testing.T) {
	for _, m := range []Event{Gaussian{2}, Laplace{2}, RandomizedResponse{0.7}, NormNoise{0.5, 5}} {
		for _, e := range []Event{m, Poisson{0.2, m}, WithoutReplacement{20, 100, m}, WithReplacement{20, 100, m}} {
			for _, r := range []Relation{{}, {Group: 3}, {Kind: Substitution}, {Kind: Substitution, Group: 2}, {Kind: Insertion}, {Kind: Removal}} {
				checkEvent(t, e, r, Best{})
				checkEvent(t, Repeat{4, e}, r, RDP{})
			}
		}
	}
}

func checkEvent(t *testing.T, e Event, r Relation, a Accountant) {
	t.Helper()
	g, err := EpsilonBy(a, e, r, 1e-5)
	if errors.Is(err, ErrNoPair) && strings.Contains(err.Error(), "NormNoise") {
		return
	}
	if err != nil || !(g.Epsilon > 0) || g.Accountant == "" {
		t.Errorf("%v under %v: %v, %v", e, r, g, err)
		return
	}
	back, err := DeltaBy(a, e, r, g.Epsilon)
	if err != nil || back.Lower > 1e-5 || back.Delta > 1e-5*(1+1e-6) {
		t.Errorf("%v under %v: %v, and back %v, %v", e, r, g, back, err)
	}
}

// Two mixed groups under removal and insertion: the two directions differ, and the relation takes the worse.
func TestDirections(t *testing.T) {
	e := SGD(1, 0.01, 300)
	in, out := epsilon(t, e, Relation{Kind: Insertion}, 1e-6), epsilon(t, e, Relation{Kind: Removal}, 1e-6)
	both := epsilon(t, e, Relation{}, 1e-6)
	if both.Epsilon != max(in.Epsilon, out.Epsilon) || in.Epsilon == out.Epsilon {
		t.Errorf("insertion %v, removal %v, both %v", in, out, both)
	}
}

func TestCalibration(t *testing.T) {
	ctx := context.Background()
	b := Budget{Epsilon: 2, Delta: 1e-6}
	noise, g, err := MinNoise(ctx, b, func(x float64) Event { return SGD(x, 0.01, 1000) })
	if err != nil || g.Epsilon > 2 || g.Epsilon < 2*(1-1e-6) {
		t.Errorf("noise %v: %v, %v", noise, g, err)
	}
	rate, g, err := MaxRate(ctx, b, func(x float64) Event { return SGD(noise, x, 1000) })
	if err != nil || g.Epsilon > 2 || math.Abs(rate/0.01-1) > 1e-6 {
		t.Errorf("rate %v: %v, %v", rate, g, err)
	}
	steps, err := MaxSteps(ctx, b, func(n int) Event { return SGD(noise, 0.01, n) })
	if err != nil || steps != 1000 {
		t.Errorf("steps %d, %v: want 1000", steps, err)
	}
	left, err := StepsLeft(ctx, b, SGD(noise, 0.01, 400), Poisson{0.01, Gaussian{noise}})
	if err != nil || left != 600 {
		t.Errorf("%d steps left, %v: want 600", left, err)
	}
	none, err := StepsLeft(ctx, b, SGD(noise, 0.01, 1001), Poisson{0.01, Gaussian{noise}})
	if err != nil || none != 0 {
		t.Errorf("%d steps left after too many, %v", none, err)
	}
	if _, _, err := MinNoise(ctx, Budget{Epsilon: 0, Delta: 0}, func(x float64) Event { return Laplace{x} }); !errors.Is(err, ErrUnreachable) {
		t.Errorf("ε = 0 at δ = 0: %v", err)
	}
	// ε = 0 is within reach at a positive δ: total variation at most δ.
	if noise, g, err := MinNoise(ctx, Budget{Epsilon: 0, Delta: 0.1}, func(x float64) Event { return Gaussian{x} }); err != nil || g.Epsilon != 0 || math.Abs(math.Erf(0.5/noise/math.Sqrt2)-0.1) > 1e-8 {
		t.Errorf("ε = 0 at δ = 0.1: noise %v, %v, %v", noise, g, err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := MaxSteps(cancelled, b, func(n int) Event { return SGD(1, 0.01, n) }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// One record of three, Poisson: Theorem 3.4 with an event for each number of special records and the obvious coupling is the exact
// divergence; Theorem 3.3 with the same coupling is larger.
func TestPartitionBound(t *testing.T) {
	const r, sigma, eps = 0.3, 1.0, 0.4
	delta := func(w []float64, means []float64) float64 {
		var p []pair.Component
		for i := range w {
			p = append(p, pair.Component{LogWeight: math.Log(w[i]), Mean: means[i]})
		}
		m, err := pair.NewMixture(pair.Gaussian, sigma, p, []pair.Component{{}})
		if err != nil {
			t.Fatal(err)
		}
		return pair.Delta(m, eps)
	}
	// Batches of the two ordinary records, all with value 0: 0 to 3. The special record adds 1.
	rest := []float64{(1 - r) * (1 - r), r * (1 - r), r * (1 - r), r * r}
	x := Partition{Prob: []float64{1 - r, r}, Given: [][]float64{rest, rest}}
	x2 := Partition{Prob: []float64{1}, Given: [][]float64{rest}}
	var tuples []Tuple
	for y, w := range rest {
		tuples = append(tuples, Tuple{Prob: w, X: []int{y, y}, X2: []int{y}})
	}
	got, err := PartitionBound(x, x2, tuples, func(_, _ []int) (float64, error) {
		return delta([]float64{1 - r, r}, []float64{0, 1}), nil
	})
	want := delta([]float64{1 - r, r}, []float64{0, 1})
	if err != nil || math.Abs(got/want-1) > 1e-12 {
		t.Errorf("Theorem 3.4: %v, %v; want %v", got, err, want)
	}
	// Theorem 3.3: batches 0..3 without the record, 4..7 with it.
	p := make([]float64, 8)
	gamma := mat.NewDense(8, 4, nil)
	for y, w := range rest {
		p[y], p[y+4] = (1-r)*w, r*w
		gamma.Set(y, y, (1-r)*w)
		gamma.Set(y+4, y, r*w)
	}
	loose, err := CouplingBound(gamma, p, rest, func(i, _ int) float64 {
		if i < 4 {
			return 0
		}
		return delta([]float64{1}, []float64{1})
	})
	if err != nil || loose <= got || math.Abs(loose-r*delta([]float64{1}, []float64{1})) > 1e-14 {
		t.Errorf("Theorem 3.3: %v, %v; Theorem 3.4 gives %v", loose, err, got)
	}
	// Neither takes what is not a coupling.
	gamma.Set(0, 0, 0.9)
	if _, err := CouplingBound(gamma, p, rest, func(int, int) float64 { return 0 }); !errors.Is(err, ErrParameter) {
		t.Errorf("wrong marginals: %v", err)
	}
	tuples[0].X2[0] = 1
	if _, err := PartitionBound(x, x2, tuples, func(_, _ []int) (float64, error) { return 0, nil }); !errors.Is(err, ErrParameter) {
		t.Errorf("wrong marginals: %v", err)
	}
}

// Published mechanism-agnostic bounds lie above the mechanism-specific number they bound.
func TestAgnosticAbove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		noise := math.Exp(rapid.Float64Range(-0.3, 2).Draw(t, "log noise"))
		rate := math.Exp(rapid.Float64Range(-7, -0.1).Draw(t, "log rate"))
		alpha := rapid.IntRange(2, 60).Draw(t, "order")
		group := rapid.IntRange(1, 5).Draw(t, "group")
		eps := rapid.Float64Range(0, 5).Draw(t, "eps")
		m := Gaussian{noise}
		one, err := GroupRenyi(Poisson{rate, m}, Relation{}, float64(alpha))
		if err != nil {
			t.Fatal(err)
		}
		rho := func(order float64) float64 { return order / (2 * noise * noise) }
		for _, v := range []Variant{Published, Refined} {
			zw, err := ZhuWangRDP(rho, rate, alpha, v)
			if err != nil || zw < one*(1-1e-9) {
				t.Fatalf("Zhu-Wang %v (%v), specific %v", zw, err, one)
			}
		}
		specific, err := GroupRenyi(Poisson{rate, m}, Relation{Kind: Removal, Group: group}, float64(alpha))
		if err != nil {
			t.Fatal(err)
		}
		agnostic, err := AgnosticGroupRDP(m, rate, group, float64(alpha))
		if err != nil || agnostic < specific*(1-1e-9) {
			t.Fatalf("agnostic group bound %v (%v), specific %v", agnostic, err, specific)
		}
		base, err := BaseProfile(m)
		if err != nil {
			t.Fatal(err)
		}
		d, err := AgnosticDelta(base, pair.Binomial(group, rate), eps)
		if err != nil {
			t.Fatal(err)
		}
		g, err := GroupDelta(Poisson{rate, m}, Relation{Kind: Removal, Group: group}, eps)
		if err != nil || d < g.LogDelta-1e-10 {
			t.Fatalf("agnostic log δ %v, specific %v (%v)", d, g.LogDelta, err)
		}
	})
}

// A profile that hardly falls: the bound at ε rises, the curve does not, and is never above the bound.
func TestPostHocCurve(t *testing.T) {
	flat := func(eps float64) float64 { return -20 - 0.01*eps }
	eps := []float64{0, 0.5, 1, 4, 4, 9}
	got, err := PostHocCurve(flat, 4, eps)
	if err != nil {
		t.Fatal(err)
	}
	rose := false
	for i, e := range eps {
		one, err := PostHocDelta(flat, 4, e)
		if err != nil || got[i] > one || i > 0 && got[i] > got[i-1] {
			t.Errorf("ε = %v: %v after %v, bound %v, %v", e, got[i], got[max(0, i-1)], one, err)
		}
		rose = rose || one > got[i]
	}
	if !rose {
		t.Error("the bound never rose: nothing was tested")
	}
	if _, err := PostHocCurve(flat, 4, []float64{1, 0.5}); !errors.Is(err, ErrParameter) {
		t.Errorf("falling eps: %v", err)
	}
}

func TestPostHocRenyi(t *testing.T) {
	// For the unsampled Gaussian ρ(α) = α/2σ²: the doubling rule gives more than the exact 4·α/2σ² for K = 2.
	rho := func(a float64) float64 { return a / 2 }
	got, err := PostHocRenyi(rho, 2, 8)
	want := (7.5/7)*8 + 7.5
	if err != nil || math.Abs(got-want) > 1e-12 || got < 4*8/2-1 {
		t.Errorf("ρ₂(8) = %v, %v; want %v", got, err, want)
	}
	if _, err := PostHocRenyi(rho, 3, 8); !errors.Is(err, ErrParameter) {
		t.Errorf("K = 3: %v", err)
	}
}

// For small rates and large noise the asymptotic term must lie within a small factor above the exact moment.
func TestAbadiGroup(t *testing.T) {
	for _, k := range []int{1, 4} {
		est, err := AbadiGroup(20, 1e-4, k, 3)
		if err != nil {
			t.Fatal(err)
		}
		rho, err := GroupRenyi(Poisson{1e-4, Gaussian{20}}, Relation{Group: k}, 3)
		if err != nil || est < 2*rho || est > 2.2*2*rho {
			t.Errorf("K=%d: estimate %v of the moment %v (%v)", k, est, 2*rho, err)
		}
	}
}
