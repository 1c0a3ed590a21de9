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
	"coupling/dp/pld"
	"coupling/dp/rdp"
	_ "coupling/lab/draws"

	"pgregory.net/rapid"
)

func epsilon(t interface{ Fatal(...any) }, e Event, r Relation, delta float64) Guarantee {
	g := must(Epsilon(context.Background(), e, r, delta))
	return g
}

func TestBadParameters(t *testing.T) {
	nan := math.NaN()
	for want, e := range map[string]Event{
		"noise multiplier = -1":  Gaussian{-1},
		"noise multiplier = NaN": Poisson{0.1, Gaussian{nan}},
		"scale = -2":             Laplace{-2},
		"truth = 0.2":            RandomizedResponse{0.2},
		"zeta = 0":               NormNoise{0, 3},
		"dim = 0":                NormNoise{1, 0},
		"rate = 1.5":             Poisson{1.5, Gaussian{1}},
		"rate = NaN":             Poisson{nan, Gaussian{1}},
		"rate = -0.1":            Poisson{-.1, Gaussian{1}},
		"scale = NaN":            Repeat{0, Laplace{nan}},
		"times = -3":             Repeat{-3, Gaussian{1}},
		"batch = 0":              WithoutReplacement{0, 10, Gaussian{1}},
		"batch = 11":             WithoutReplacement{11, 10, Gaussian{1}},
		"size = 0":               WithReplacement{1, 0, Gaussian{1}},
		"event = nil":            Repeat{2, nil},
		"at least one":           Compose{},
		"removal = nil":          FromPair{},
		"must be at most":        WithoutReplacement{10, 10, Gaussian{1}}, // one record less is too few for a batch
	} {
		_, err := Epsilon(t.Context(), e, Relation{}, 1e-5)
		if !errors.Is(err, ErrParameter) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one with %q", e, err, want)
		}
	}
	for _, delta := range []float64{-1, 1.1, nan} {
		if _, err := Epsilon(t.Context(), Gaussian{1}, Relation{}, delta); !errors.Is(err, ErrParameter) ||
			!strings.Contains(err.Error(), "delta = ") {
			t.Errorf("delta %v: %v", delta, err)
		}
	}
	for _, eps := range []float64{math.Inf(-1), math.Inf(1), nan} {
		if _, err := Delta(t.Context(), Gaussian{1}, Relation{}, eps); !errors.Is(err, ErrParameter) ||
			!strings.Contains(err.Error(), "eps = ") {
			t.Errorf("eps %v: %v", eps, err)
		}
	}
	for _, r := range []Relation{{Group: -1}, {Kind: 9}} {
		if _, err := Epsilon(t.Context(), Gaussian{1}, r, 1e-5); !errors.Is(err, ErrParameter) {
			t.Errorf("relation %v: %v", r, err)
		}
	}
}

func TestNoPair(t *testing.T) {
	g := Gaussian{1}
	own := must(pair.Poisson(pair.Gaussian, 1, 1, 0, 1))
	for part, c := range map[string]struct {
		e Event
		r Relation
	}{
		"3 × Gaussian":  {Poisson{0.1, Repeat{3, g}}, Relation{}},
		"(Gaussian":     {Poisson{0.1, Compose{g, g}}, Relation{}},
		"Poisson(rate":  {WithoutReplacement{1, 10, Poisson{0.1, g}}, Relation{}},
		"NormNoise":     {Poisson{0.1, NormNoise{1, 3}}, Relation{Group: 2}},
		"FromPair":      {FromPair{own}, Relation{Kind: Substitution}},
		"more than one": {Poisson{0.1, FromPair{own}}, Relation{Group: 2}},
	} {
		_, err := Epsilon(t.Context(), c.e, c.r, 1e-5)
		if !errors.Is(err, ErrNoPair) || !strings.Contains(err.Error(), part) {
			t.Errorf("%v: error %v, want one naming %q", c.e, err, part)
		}
	}
}

// Unbounded at δ = 0, and the sum of the largest losses where they are bounded.
func TestPure(t *testing.T) {
	if _, err := Epsilon(t.Context(), Gaussian{1}, Relation{}, 0); !errors.Is(err, ErrUnbounded) {
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
	if got := epsilon(t, Poisson{1e-160, Poisson{1e-160, Pure{700}}}, Relation{}, 0).Epsilon; got < 1.014232e-16 {
		t.Errorf("a product of rates that underflows: ε = %v", got)
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
	g := must(EpsilonBy(context.Background(), a, SGD(c.noise, c.rate, c.steps), r, c.delta))
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
	return map[string]sgd{"more steps": steps, "higher rate": rate, "larger group": group, "less noise": noise,
		"no sampling": all, "smaller δ": delta}
}

// checkMonotone compares with what must be worse. Upper bounds by the same accountant are ordered too.
func checkMonotone(t interface{ Fatalf(string, ...any) }, what string, base, worse Guarantee) {
	if base.Lower > worse.Epsilon || base.Accountant == worse.Accountant &&
		base.Epsilon > worse.Epsilon*(1+1e-7)+1e-12 {
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
		checkMonotone(t, what, c.epsilon(t, rdp.Accountant{}, Relation{}),
			worse[what].epsilon(t, rdp.Accountant{}, Relation{}))
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

// Every mechanism and sampling has a guarantee in every relation that the package says it has: one
// step by its profile, several by moments; and what Delta says at that ε agrees.
func TestEveryEvent(t *testing.T) {
	for _, m := range []Event{Gaussian{2}, Laplace{2}, RandomizedResponse{0.7}, NormNoise{0.5, 5}} {
		for _, e := range []Event{m, Poisson{0.2, m}, WithoutReplacement{20, 100, m}, WithReplacement{20, 100, m}} {
			for _, r := range []Relation{{}, {Group: 3}, {Kind: Substitution}, {Kind: Substitution, Group: 2},
				{Kind: Insertion}, {Kind: Removal}} {
				if testing.Short() && (r.Kind == Insertion || r.Kind == Removal) {
					continue // the zero relation is the worse of the two
				}
				checkEvent(t, e, r, Best{})
				checkEvent(t, Repeat{4, e}, r, rdp.Accountant{})
			}
		}
	}
}

func checkEvent(t *testing.T, e Event, r Relation, a Accountant) {
	t.Helper()
	g, err := EpsilonBy(context.Background(), a, e, r, 1e-5)
	if errors.Is(err, ErrNoPair) && strings.Contains(err.Error(), "NormNoise") {
		return
	}
	if err != nil || !(g.Epsilon > 0) || g.Accountant == "" {
		t.Errorf("%v under %v: %v, %v", e, r, g, err)
		return
	}
	back, err := DeltaBy(context.Background(), a, e, r, g.Epsilon)
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
	left, err := MaxSteps(ctx, b, func(n int) Event { return Compose{SGD(noise, 0.01, 400), SGD(noise, 0.01, n)} })
	if err != nil || left != 600 {
		t.Errorf("%d steps left, %v: want 600", left, err)
	}
	none, err := MaxSteps(ctx, b, func(n int) Event { return Compose{SGD(noise, 0.01, 1001), SGD(noise, 0.01, n)} })
	if err != nil || none != 0 {
		t.Errorf("%d steps left after too many, %v", none, err)
	}
	if _, _, err := MinNoise(ctx, Budget{Epsilon: 0, Delta: 0},
		func(x float64) Event { return Laplace{x} }); !errors.Is(err, ErrUnreachable) {
		t.Errorf("ε = 0 at δ = 0: %v", err)
	}
	// ε = 0 is within reach at a positive δ: total variation at most δ.
	if noise, g, err := MinNoise(ctx, Budget{Epsilon: 0, Delta: 0.1},
		func(x float64) Event { return Gaussian{x} }); err != nil || g.Epsilon !=
		0 || math.Abs(math.Erf(0.5/noise/math.Sqrt2)-0.1) > 1e-8 {
		t.Errorf("ε = 0 at δ = 0.1: noise %v, %v, %v", noise, g, err)
	}
}

// What a search leaves unknown far from the budget, and the shorter way to an answer near it, are of
// no consequence for what it returns: the guarantee encloses an answer of its own, nearly all of the
// budget is spent, and a budget far below any ε is out of reach. It does not ask twice what it knows,
// nor bisect towards a value that is near an end.
func TestCalibrationIsCertified(t *testing.T) {
	for _, c := range []struct {
		eps, delta, rate   float64
		steps, group, most int     // questions at most
		left               float64 // of the budget that may be left over
	}{
		{.5, 1e-5, 1e-6, 1_000_000, 0, 10, 2e-3}, {.1, 1e-6, 1e-5, 100_000, 0, 10, 2e-3},
		{2.6, 1e-5, .001, 1000, 60, 12, 1e-2}, {.0503, 1.66e-8, 3.96e-5, 46_736, 0, 7, 1e-7},
		{2, 1e-6, .013, 700, 0, 8, 1e-7}, {1, 1e-5, 1e-6, 10_000_000, 0, 10, 1e-7},
	} {
		asked, r := 0, Relation{Group: c.group}
		event := func(x float64) Event { asked++; return SGD(x, c.rate, c.steps) }
		x, g, err := MinNoise(t.Context(), Budget{Epsilon: c.eps, Delta: c.delta, Relation: r}, event)
		if asked > c.most || err != nil {
			t.Errorf("%+v: %v after %d questions", c, err, asked)
		}
		own := epsilon(t, event(x), r, c.delta)
		if own.Lower > g.Epsilon || g.Lower > own.Epsilon || g.Epsilon > c.eps || g.Epsilon < c.eps*(1-c.left) ||
			g.Relation != r {
			t.Errorf("%+v, noise %v: %v, lower end %v; asked again %v", c, x, g, g.Lower, own)
		}
	}
	fixed := func(float64) Event { return SGD(1, .01, 1000) }
	b := Budget{Epsilon: .01, Delta: 1e-6, Relation: Relation{Group: 2}}
	if _, g, err := MinNoise(t.Context(), b, fixed); !errors.Is(err, ErrUnreachable) || g.Kind != None {
		t.Errorf("ε far above the budget: %v, %v", g, err)
	}
}

// δ of a composition of (ε, δ) is spent by the events' own exactly, and ε is then the sum of
// theirs; a δ above the sum of the distances needs no ε.
func TestSpentDelta(t *testing.T) {
	both := Compose{Approximate{1, .1}, Approximate{2, .2}}
	if g := epsilon(t, both, Relation{}, .28); math.Abs(g.Epsilon-3) > 1e-12 || g.Epsilon < 3 {
		t.Errorf("at δ = .28: ε = %v, want 3", g.Epsilon)
	}
	if _, err := Epsilon(t.Context(), both, Relation{}, math.Nextafter(.28, 0)); !errors.Is(err, ErrUnbounded) {
		t.Errorf("below δ = .28: %v", err)
	}
	if g := epsilon(t, SGD(1, 1e-12, 1000), Relation{}, 1e-5); g.Epsilon != 0 || g.Kind != Exact {
		t.Errorf("a rate of 1e-12: %v", g)
	}
}

// An uneven accountant answers higher where all of the answer is wanted, as grids of other bins may.
type uneven struct{ Accountant }

func (u uneven) Bound(ctx context.Context, steps []pair.Step, q pair.Question) (pair.Answer, error) {
	v, err := u.Accountant.Bound(ctx, steps, q)
	if q.Far == 0 {
		v.Upper *= 1 + 1e-6
	}
	return v, err
}

// Who asks what a plan spends is told no more than the plan says and the budget allows.
func TestPlansAreAccepted(t *testing.T) {
	laplace := func(x float64) Event { return Repeat{500, Poisson{.01, Laplace{x}}} }
	for i, c := range []struct {
		b     Budget
		event func(x float64) Event
	}{
		{Budget{Epsilon: 2, Delta: 1e-6}, func(x float64) Event { return SGD(x, .013, 700) }},
		{Budget{Epsilon: .4, Delta: 1e-6, Relation: Relation{Kind: Substitution}},
			func(x float64) Event { return SGD(x, .01, 700) }},
		{Budget{Epsilon: .3, Delta: 1e-5}, func(x float64) Event { return SGD(x, 1e-6, 300_000) }},
		{Budget{Epsilon: 1, Delta: 1e-6, Accountant: pld.Accountant{Width: 1e-3}}, laplace},
		{Budget{Epsilon: 1, Delta: 1e-6, Accountant: rdp.Accountant{}}, laplace},
		{Budget{Epsilon: 2, Delta: 1e-6}, func(x float64) Event { return Repeat{7, Laplace{x}} }},
		{Budget{Epsilon: 1, Delta: 1e-6}, func(x float64) Event { return Repeat{9, DiscreteGaussian{Sigma: x}} }},
		{Budget{Epsilon: 1, Delta: 1e-6}, func(x float64) Event { return Repeat{9, DiscreteLaplace{Scale: x}} }},
		{Budget{Epsilon: 1, Delta: 1e-6, Accountant: uneven{Best{}}}, laplace},
		{Budget{Epsilon: 1, Delta: 1e-6}, laplace}, // the first of those that take longer
		{Budget{Epsilon: 3, Delta: 1e-6, Relation: Relation{Group: 50}},
			func(x float64) Event { return SGD(x, .001, 500) }},
		{Budget{Epsilon: 1, Delta: 1e-5}, func(x float64) Event { return Repeat{3, Allocation{50, 1, Gaussian{x}}} }},
		{Budget{Epsilon: 2, Delta: 1e-6}, func(x float64) Event { return Allocation{40, 3, Gaussian{x}} }},
		{Budget{Epsilon: 2, Delta: 1e-6}, func(x float64) Event { return Allocation{30, 1, Laplace{x}} }},
	} {
		if i > 9 && testing.Short() {
			break
		}
		x, g, err := MinNoise(t.Context(), c.b, c.event)
		if err != nil {
			t.Fatal(i, err)
		}
		again, err := EpsilonBy(t.Context(), c.b.Accountant, c.event(x), c.b.Relation, c.b.Delta)
		if err != nil || again.Epsilon > c.b.Epsilon || again.Epsilon > g.Epsilon*(1+1e-8) || g.Epsilon > c.b.Epsilon {
			t.Errorf("%d: of %v at noise %v: %v, asked again %v, %v", i, c.b.Epsilon, x, g.Epsilon, again.Epsilon, err)
		}
	}
	b := Budget{Epsilon: 1, Delta: 1e-6, Accountant: uneven{Best{}}}
	rate, _, err := MaxRate(t.Context(), b, func(q float64) Event { return Repeat{500, Poisson{q, Laplace{1}}} })
	if again := epsilonBy(t, b, Repeat{500, Poisson{rate, Laplace{1}}}); err != nil || again > 1 {
		t.Errorf("at rate %v: %v, %v", rate, again, err)
	}
	steps, err := MaxSteps(t.Context(), b, func(n int) Event { return Repeat{n, Poisson{.01, Laplace{1}}} })
	if again := epsilonBy(t, b, Repeat{steps, Poisson{.01, Laplace{1}}}); err != nil || again > 1 {
		t.Errorf("%d steps: %v, %v", steps, again, err)
	}
}

// A budget that is just what an event spends admits the event.
func TestWholeBudgets(t *testing.T) {
	sampled := func(rate float64, n int) Event { return Repeat{n, Poisson{rate, Laplace{2}}} }
	b := Budget{Delta: 1e-3}
	b.Epsilon = epsilonBy(t, b, sampled(.3, 7))
	if n, err := MaxSteps(t.Context(), b, func(n int) Event { return sampled(.3, n) }); n != 7 || err != nil {
		t.Errorf("%d steps, %v, want 7", n, err)
	}
	rare := func(n int) Event { return Repeat{n, Poisson{.0334, Laplace{1.4}}} }
	b.Delta = .0011
	b.Epsilon = epsilonBy(t, b, rare(2)) // a rough answer for two is above that, one is exact
	if n, err := MaxSteps(t.Context(), b, rare); n != 2 || err != nil {
		t.Errorf("%d steps, %v, want 2", n, err)
	}
	b.Epsilon = epsilonBy(t, b, sampled(1, 60))
	rate, _, err := MaxRate(t.Context(), b, func(q float64) Event { return sampled(q, 60) })
	if rate != 1 || err != nil {
		t.Errorf("a rate of %v, %v, want 1", rate, err)
	}
}

// Where insertion costs several times as much as removal, a rate is not taken from removal alone, of which little is
// spent at the end.
func TestRateOfUnevenDirections(t *testing.T) {
	rare := must(pair.NewDiscrete([]float64{1 - 1e-5, 1e-5}, []float64{.999, .001}))
	b := Budget{Epsilon: 1, Delta: 1e-6}
	rate, g, err := MaxRate(t.Context(), b, func(q float64) Event { return Repeat{3, Poisson{q, FromPair{rare}}} })
	if err != nil || g.Epsilon > 1 || g.Epsilon < 1-1e-6 {
		t.Errorf("a rate of %v: %v, %v", rate, g, err)
	}
}

func epsilonBy(t *testing.T, b Budget, e Event) float64 {
	return must(EpsilonBy(t.Context(), b.Accountant, e, b.Relation, b.Delta)).Epsilon
}

// Where 1/γ is rounded, γ^η overflows or η has few digits, what a selection costs is not less.
func TestSelectionAtTheEnds(t *testing.T) {
	const below = 0x1.3p-34
	near, least := 1-below, 1e-320
	e := RepeatAndSelect{Shape: 1e10, Gamma: near}
	first := orders{func() order { return order{1, 0} }}
	if got, want := e.shapeCost(first, math.Inf(1)), -(1+e.Shape)*math.Log1p(-below); math.Abs(got/want-1) > 1e-13 {
		t.Errorf("γ near 1: %v, want %v", got, want)
	}
	inverse := 100*math.Ln2 - math.Log(least*0x1p100)
	bit := must(pair.Indistinguishable(1, 0, pair.Binomial(1, 1), pair.Binomial(0, 1)))
	for _, c := range []struct{ shape, gamma, logMean float64 }{
		{-.99, least, math.Log(.99) + .01*inverse},
		{3e-323, .5, -math.Log(math.Ln2)},
		{1, least, inverse},
		{1, near, -math.Log1p(-below)},
		{0, near, -math.Log1p(-below / 2)}, // 1/√γ but for squares
	} {
		e.Shape, e.Gamma = c.shape, c.gamma
		got, moment := e.logMean(), e.moments([]pair.Step{{Pair: bit, Times: 1}})(2)
		if math.Abs(got-c.logMean) > 1e-13*(1+c.logMean) || moment < c.logMean {
			t.Errorf("%v: log of the mean %v, moment %v, want %v", e, got, moment, c.logMean)
		}
	}
}
