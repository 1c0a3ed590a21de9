package audit

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"coupling/dp"
	"coupling/dp/noise"
	"coupling/dp/pair"
)

func TestClopperPearsonKnown(t *testing.T) {
	for _, c := range []struct {
		k, n   int
		lo, hi float64
	}{
		{0, 10, 0, 1 - math.Pow(0.025, 0.1)}, // closed form
		{10, 10, math.Pow(0.025, 0.1), 1},
		{5, 10, 0.18708603, 0.81291397}, // tables of the exact 95 % interval
		{1, 20, 0.00126509, 0.24873276},
	} {
		lo, hi, err := ClopperPearson(c.k, c.n, 0.95)
		if err != nil || math.Abs(lo-c.lo) > 1e-8 || math.Abs(hi-c.hi) > 1e-8 { // digits of the tables, rounding outwards
			t.Errorf("%d of %d: [%v, %v] %v, want [%v, %v]", c.k, c.n, lo, hi, err, c.lo, c.hi)
		}
	}
	// A closed form at a probability of 1e-6.
	_, hi, err := ClopperPearson(0, 4_000_000, 0.95)
	if want := -math.Expm1(math.Log(0.025) / 4e6); err != nil || math.Abs(hi/want-1) > 2*outwards {
		t.Errorf("0 of 4e6: %v, want %v", hi, want)
	}
}

func TestClopperPearsonIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5000).Draw(t, "n")
		k := rapid.IntRange(0, n-1).Draw(t, "k")
		c := rapid.Float64Range(0.5, 0.999).Draw(t, "confidence")
		lo, hi, err := ClopperPearson(k, n, c)
		lo2, hi2, err2 := ClopperPearson(k+1, n, c)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		p := float64(k) / float64(n)
		if !(lo <= p && p <= hi) || lo2 < lo || hi2 < hi {
			t.Fatalf("%d of %d: [%v, %v], one more: [%v, %v]", k, n, lo, hi, lo2, hi2)
		}
	})
}

// direct is the p-value of SNJ by plain sums, for small numbers.
func direct(m, r, v int, eps, delta float64) float64 {
	q := 1 / (1 + math.Exp(-eps))
	mass := func(k int) float64 {
		c := 1.0
		for i := range k {
			c *= float64(r-i) / float64(i+1)
		}
		return c * math.Pow(q, float64(k)) * math.Pow(1-q, float64(r-k))
	}
	p := 0.0
	for k := v; k <= r; k++ {
		p += mass(k)
	}
	best := 0.0
	for i := 1; i <= v; i++ {
		s := 0.0
		for k := v - i; k < v; k++ {
			s += mass(k)
		}
		best = max(best, s/float64(i))
	}
	return min(1, p+2*float64(m)*delta*best)
}

func TestPValueIsTheSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 60).Draw(t, "m")
		r := rapid.IntRange(0, m).Draw(t, "r")
		v := rapid.IntRange(0, r).Draw(t, "v")
		eps := rapid.Float64Range(0, 6).Draw(t, "eps")
		delta := rapid.Float64Range(0, 0.1).Draw(t, "delta")
		got, err := PValue(m, r, v, eps, delta)
		if want := direct(m, r, v, eps, delta); err != nil || math.Abs(got-want) > 1e-8*want { // outwards and sums
			t.Fatalf("%v (%v), want %v", got, err, want)
		}
	})
}

// More correct guesses are more evidence; a larger claim explains more.
func TestPValueIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(2, 3000).Draw(t, "m")
		r := rapid.IntRange(1, m).Draw(t, "r")
		v := rapid.IntRange(0, r-1).Draw(t, "v")
		eps := rapid.Float64Range(0, 8).Draw(t, "eps")
		more := eps + rapid.Float64Range(0, 2).Draw(t, "more")
		delta := rapid.Float64Range(0, 1e-3).Draw(t, "delta")
		p := func(v int, eps, delta float64) float64 {
			x, err := PValue(m, r, v, eps, delta)
			if err != nil || math.IsNaN(x) {
				t.Fatal(x, err)
			}
			return x
		}
		base := p(v, eps, delta)
		slack := 1e-8 * base // rounding
		if tail := p(v+1, eps, 0); tail > p(v, eps, 0)+slack {
			t.Fatalf("one more correct: %v after %v", tail, base)
		}
		if p(v, more, 0) < p(v, eps, 0)-slack || p(v, eps, delta/2) > base+slack {
			t.Fatal("a smaller ε or δ explains more")
		}
		// What is asked of LowerBound: once it does not refute a claim it refutes no larger one.
		if alpha := 0.05; base > alpha && p(v, more, delta) <= alpha {
			t.Fatalf("ε = %v is not refuted and %v is", eps, more)
		}
	})
}

func TestLowerBound(t *testing.T) {
	// All of r correct at δ = 0: q^r = 1 − confidence.
	got, err := LowerBound(1000, 500, 500, 0, 0.95)
	q := math.Pow(0.05, 1.0/500)
	if want := math.Log(q / (1 - q)); err != nil || math.Abs(got-want) > 1e-6 { // rounding outwards by 1e-9 of p
		t.Errorf("%v (%v), want %v", got, err, want)
	}
	for _, c := range []struct{ v int }{{250}, {0}, {260}} {
		if got, err := LowerBound(1000, 500, c.v, 0, 0.95); err != nil || got != 0 {
			t.Errorf("%d of 500 correct: ε ≥ %v (%v), want 0", c.v, got, err)
		}
	}
	// At the bound the p-value is what is left of the confidence.
	for _, delta := range []float64{0, 1e-5, 1e-4} {
		eps, err := LowerBound(1000, 200, 190, delta, 0.9)
		p, err2 := PValue(1000, 200, 190, eps, delta)
		if err != nil || err2 != nil || eps <= 0 || p > 0.1 || p < 0.1-1e-6 {
			t.Errorf("δ = %v: ε ≥ %v with p-value %v (%v, %v)", delta, eps, p, err, err2)
		}
	}
	if got, err := LowerBound(10, 10, 10, 0, 1e-30); err != nil || math.IsInf(got, 0) {
		t.Errorf("no confidence at all: %v, %v", got, err)
	}
}

// Findings fall with δ and with the confidence that is asked for.
func TestFindingsAreMonotone(t *testing.T) {
	last := math.Inf(1)
	for _, c := range []struct{ delta, confidence float64 }{{0, 0.5}, {0, 0.95}, {0.01, 0.95}, {0.1, 0.95}, {0.1, 0.999}, {0.6, 0.999}} {
		found, err := answers(0.75, 1, 5000, c.confidence).Epsilon(context.Background(), rand.New(rand.NewPCG(1, 1)), c.delta)
		if err != nil {
			t.Fatal(err)
		}
		if found.Epsilon > last {
			t.Errorf("%+v: %v after %v", c, found, last)
		}
		last = found.Epsilon
	}
	if last != 0 { // total variation is 1/2
		t.Errorf("ε ≥ %v at δ = 0.6", last)
	}
}

// One canary a coordinate, Gaussian noise: the claim holds with one run, and half the noise is caught by one.
func TestOneRunOnGaussianNoise(t *testing.T) {
	const delta = 1e-5
	claim, err := dp.Epsilon(dp.Gaussian{NoiseMultiplier: 1}, dp.Relation{}, delta)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sigma  float64
		caught bool
		least  float64
	}{{1, false, 1}, {0.5, true, 4}} {
		score, err := Loss([]pair.Step{{Pair: mustPoisson(t, c.sigma), Times: 1}})
		if err != nil {
			t.Fatal(err)
		}
		audit := OneRun{
			Run: func(_ context.Context, rng *rand.Rand, included []bool) ([]float64, error) {
				values := make([]float64, len(included))
				for i, in := range included {
					if in {
						values[i] = 1
					}
				}
				out, err := noise.Gaussian{Sigma: c.sigma}.Add(noise.Seeded(rng), values)
				for i, x := range out {
					out[i] = score([]float64{x})
				}
				return out, err
			},
			Canaries: 20_000, Guesses: 1000,
		}
		found, err := audit.Epsilon(context.Background(), rand.New(rand.NewPCG(8, 8)), delta)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("σ = %v: claimed %.4f, found %v, %d of %d correct", c.sigma, claim.Epsilon, found, found.Correct, found.Guesses)
		if found.Refutes(claim.Epsilon) != c.caught || found.Epsilon < c.least {
			t.Errorf("σ = %v: claimed %v, found %v, want caught: %v", c.sigma, claim.Epsilon, found, c.caught)
		}
	}
}

func mustPoisson(t *testing.T, sigma float64) pair.Pair {
	p, err := pair.Poisson(pair.Gaussian, sigma, 1, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The finding does not depend on the number of workers.
func TestWorkers(t *testing.T) {
	var want Distinguished
	for _, workers := range []int{1, 2, 7} {
		g := answers(0.8, 3, 3000, 0.9)
		g.Workers = workers
		got, err := g.Epsilon(context.Background(), rand.New(rand.NewPCG(1, 9)), 0.001)
		if err != nil {
			t.Fatal(err)
		}
		if workers == 1 {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d workers: %s", workers, diff)
		}
	}
}

// The loss is that of the densities: for Gaussian noise (2x − 1)/2σ² an output.
func TestLoss(t *testing.T) {
	score, err := Loss([]pair.Step{{Pair: mustPoisson(t, 2), Times: 2}, {Pair: mustPoisson(t, 1), Times: 1}})
	if err != nil {
		t.Fatal(err)
	}
	want := (2*3.0-1)/8 + (2*-1.0-1)/8 + (2*0.25-1)/2
	if got := score([]float64{3, -1, 0.25}); math.Abs(got-want) > 1e-14 {
		t.Errorf("%v, want %v", got, want)
	}
	if got := score([]float64{1}); !math.IsNaN(got) {
		t.Errorf("one output of three scores %v", got)
	}
	d, err := pair.RandomizedResponse(0.75, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Loss([]pair.Step{{Pair: d, Times: 1}}); !errors.Is(err, dp.ErrNotApplicable) {
		t.Errorf("discrete pair: %v", err)
	}
}

func TestParameters(t *testing.T) {
	ctx, rng := context.Background(), rand.New(rand.NewPCG(1, 1))
	good := answers(0.75, 1, 10, 0.9)
	one := oneResponse(0.75, 10, 5, 0.9)
	worlds := func(edit func(*TwoWorlds[[]bool])) func() error {
		return func() error { g := good; edit(&g); _, err := g.Epsilon(ctx, rng, 0); return err }
	}
	run := func(edit func(*OneRun)) func() error {
		return func() error { a := one; edit(&a); _, err := a.Epsilon(ctx, rng, 0); return err }
	}
	for name, f := range map[string]func() error{
		"Trials = 1":       worlds(func(g *TwoWorlds[[]bool]) { g.Trials = 1 }),
		"Confidence = 1":   worlds(func(g *TwoWorlds[[]bool]) { g.Confidence = 1 }),
		"Confidence = NaN": worlds(func(g *TwoWorlds[[]bool]) { g.Confidence = math.NaN() }),
		"Workers = -1":     worlds(func(g *TwoWorlds[[]bool]) { g.Workers = -1 }),
		"Run = nil":        worlds(func(g *TwoWorlds[[]bool]) { g.Run = nil }),
		"Score = nil":      worlds(func(g *TwoWorlds[[]bool]) { g.Score = nil }),
		"Score = NaN":      worlds(func(g *TwoWorlds[[]bool]) { g.Score = func([]bool) float64 { return math.NaN() } }),
		"delta = 1":        func() error { _, err := good.Epsilon(ctx, rng, 1); return err },
		"delta = NaN":      func() error { _, err := one.Epsilon(ctx, rng, math.NaN()); return err },
		"rng = nil":        func() error { _, err := good.Epsilon(ctx, nil, 0); return err },
		"rng = nil: must":  func() error { _, err := one.Epsilon(ctx, nil, 0); return err },
		"Canaries = 0":     run(func(a *OneRun) { a.Canaries = 0 }),
		"Guesses = 11":     run(func(a *OneRun) { a.Guesses = 11 }),
		"Run = nil: must":  run(func(a *OneRun) { a.Run = nil }),
		"1 scores for 10": run(func(a *OneRun) {
			a.Run = func(context.Context, *rand.Rand, []bool) ([]float64, error) { return []float64{1}, nil }
		}),
		"eps = -1":       func() error { _, err := PValue(10, 5, 5, -1, 0); return err },
		"correct = 6":    func() error { _, err := PValue(10, 5, 6, 1, 0); return err },
		"hits = 5":       func() error { _, _, err := ClopperPearson(5, 4, 0.9); return err },
		"confidence = 0": func() error { _, err := LowerBound(10, 5, 5, 0, 0); return err },
	} {
		if err := f(); !errors.Is(err, dp.ErrParameter) || !strings.Contains(err.Error(), name) || !strings.HasPrefix(err.Error(), "audit: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestErrorsOfTheMechanism(t *testing.T) {
	lost := errors.New("the machine is gone")
	ctx, rng := context.Background(), rand.New(rand.NewPCG(1, 1))
	g := answers(0.75, 1, 1000, 0.9)
	g.Run = func(_ *rand.Rand, world bool) ([]bool, error) {
		if world {
			return nil, lost
		}
		return []bool{true}, nil
	}
	if _, err := g.Epsilon(ctx, rng, 0); !errors.Is(err, lost) {
		t.Errorf("two worlds: %v", err)
	}
	a := oneResponse(0.75, 10, 5, 0.9)
	a.Run = func(context.Context, *rand.Rand, []bool) ([]float64, error) { return nil, lost }
	if _, err := a.Epsilon(ctx, rng, 0); !errors.Is(err, lost) {
		t.Errorf("one run: %v", err)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := answers(0.75, 1, 1000, 0.9).Epsilon(stopped, rng, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func FuzzPValue(f *testing.F) {
	f.Add(100, 50, 40, 1.0, 1e-5)
	f.Add(1, 0, 0, 0.0, 0.0)
	f.Add(1_000_000, 100_000, 100_000, 30.0, 0.5)
	f.Fuzz(func(t *testing.T, m, r, v int, eps, delta float64) {
		if m > 2_000_000 {
			t.Skip()
		}
		p, err := PValue(m, r, v, eps, delta)
		if err != nil {
			if !errors.Is(err, dp.ErrParameter) {
				t.Error(err)
			}
			return
		}
		if !(p >= 0 && p <= 1) {
			t.Errorf("p = %v", p)
		}
		if zero, _ := PValue(m, r, v, eps, 0); zero > p {
			t.Errorf("p = %v at δ = %v, %v at 0", p, delta, zero)
		}
	})
}

func BenchmarkTwoWorlds(b *testing.B) {
	g := answers(0.75, 1, 20_000, 0.95)
	rng := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		found, err := g.Epsilon(context.Background(), rng, 0)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(math.Log(3)-found.Epsilon, "gap")
	}
}

func BenchmarkLowerBound(b *testing.B) {
	for b.Loop() {
		if _, err := LowerBound(100_000, 10_000, 9_900, 1e-5, 0.95); err != nil {
			b.Fatal(err)
		}
	}
}
