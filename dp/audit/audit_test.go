package audit

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coupling/dp"
	"coupling/dp/pair"
	"coupling/lab/must"
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
		// digits of the tables, rounding outwards
		if err != nil || math.Abs(lo-c.lo) > 1e-8 || math.Abs(hi-c.hi) > 1e-8 {
			t.Errorf("%d of %d: [%v, %v] %v, want [%v, %v]", c.k, c.n, lo, hi, err, c.lo, c.hi)
		}
	}
	// A closed form at a probability of 1e-6.
	_, hi, err := ClopperPearson(0, 4_000_000, 0.95)
	// rounded outwards by 1e-9
	if want := -math.Expm1(math.Log(0.025) / 4e6); err != nil || math.Abs(hi/want-1) > 2e-9 {
		t.Errorf("0 of 4e6: %v, want %v", hi, want)
	}
}

// Findings fall with δ and with the confidence that is asked for.
func TestFindingsAreMonotone(t *testing.T) {
	last := math.Inf(1)
	for _, c := range []struct{ delta, confidence float64 }{{0, 0.5}, {0, 0.95}, {0.01, 0.95}, {0.1, 0.95},
		{0.1, 0.999}, {0.6, 0.999}} {
		found := must.Get(answers(0.75, 1, 5000, c.confidence).
			Epsilon(context.Background(), rand.New(rand.NewPCG(1, 1)), c.delta))
		if found.Epsilon > last {
			t.Errorf("%+v: %v after %v", c, found, last)
		}
		last = found.Epsilon
	}
	if last != 0 { // total variation is 1/2
		t.Errorf("ε ≥ %v at δ = 0.6", last)
	}
}

func mustPoisson(sigma float64) pair.Pair {
	return must.Get(pair.Poisson(pair.Gaussian, sigma, 1, 0, 1))
}

// The finding does not depend on the number of workers.
func TestWorkers(t *testing.T) {
	var want Distinguished
	for _, workers := range []int{1, 2, 7} {
		g := answers(0.8, 3, 3000, 0.9)
		g.Workers = workers
		got := must.Get(g.Epsilon(context.Background(), rand.New(rand.NewPCG(1, 9)), 0.001))
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
	score := must.Get(Loss([]pair.Step{{Pair: mustPoisson(2), Times: 2}, {Pair: mustPoisson(1), Times: 1}}))
	want := (2*3.0-1)/8 + (2*-1.0-1)/8 + (2*0.25-1)/2
	if got := score([]float64{3, -1, 0.25}); math.Abs(got-want) > 1e-14 {
		t.Errorf("%v, want %v", got, want)
	}
	if got := score([]float64{1}); !math.IsNaN(got) {
		t.Errorf("one output of three scores %v", got)
	}
	d := must.Get(pair.RandomizedResponse(0.75, 1, 0))
	if _, err := Loss([]pair.Step{{Pair: d, Times: 1}}); !errors.Is(err, dp.ErrNotApplicable) {
		t.Errorf("discrete pair: %v", err)
	}
}

func TestParameters(t *testing.T) {
	ctx, rng := context.Background(), rand.New(rand.NewPCG(1, 1))
	good := answers(0.75, 1, 10, 0.9)
	worlds := func(edit func(*TwoWorlds[[]bool])) error {
		g := good
		edit(&g)
		return must.Err(g.Epsilon(ctx, rng, 0))
	}
	_, _, hits := ClopperPearson(5, 4, 0.9)
	_, _, confidence := ClopperPearson(1, 4, 0)
	for name, err := range map[string]error{
		"Trials = 1":       worlds(func(g *TwoWorlds[[]bool]) { g.Trials = 1 }),
		"Confidence = 1":   worlds(func(g *TwoWorlds[[]bool]) { g.Confidence = 1 }),
		"Confidence = NaN": worlds(func(g *TwoWorlds[[]bool]) { g.Confidence = math.NaN() }),
		"Workers = -1":     worlds(func(g *TwoWorlds[[]bool]) { g.Workers = -1 }),
		"Run = nil":        worlds(func(g *TwoWorlds[[]bool]) { g.Run = nil }),
		"Score = nil":      worlds(func(g *TwoWorlds[[]bool]) { g.Score = nil }),
		"Score = NaN":      worlds(func(g *TwoWorlds[[]bool]) { g.Score = func([]bool) float64 { return math.NaN() } }),
		"delta = 1":        must.Err(good.Epsilon(ctx, rng, 1)),
		"delta = NaN":      must.Err(good.Epsilon(ctx, rng, math.NaN())),
		"rng = nil":        must.Err(good.Epsilon(ctx, nil, 0)),
		"hits = 5":         hits,
		"confidence = 0":   confidence,
	} {
		if !errors.Is(err, dp.ErrParameter) || !strings.Contains(err.Error(), name) ||
			!strings.HasPrefix(err.Error(), "audit: ") {
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
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := answers(0.75, 1, 1000, 0.9).Epsilon(stopped, rng, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestWilson(t *testing.T) {
	// Wilson's interval of 81 of 263, as printed by Newcombe (1998), table I.
	if lo, hi := Wilson(81, 263, .95); math.Abs(lo-.2553) > 5e-5 || math.Abs(hi-.3662) > 5e-5 {
		t.Errorf("Wilson(81, 263) = %v, %v", lo, hi)
	}
	if lo, hi := Wilson(0, 20, .95); lo != 0 || math.Abs(hi-.1611) > 5e-5 {
		t.Errorf("Wilson(0, 20) = %v, %v", lo, hi)
	}
}
