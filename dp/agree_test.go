package dp

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"coupling/dp/pld"
	"coupling/dp/rdp"
)

// drawn is any event, relation and δ, of moderate size.
func drawn(rng *rand.Rand) (Event, Relation, float64) {
	within := func(lo, hi float64) float64 { return math.Exp(math.Log(lo) + rng.Float64()*math.Log(hi/lo)) }
	s := within(.2, 50)
	mechanisms := []Event{
		Gaussian{s}, Laplace{s}, RandomizedResponse{.5 + .5*rng.Float64()}, NormNoise{1 / s, 1 + rng.IntN(6)},
		Pure{within(1e-4, 5)},
		Approximate{within(1e-4, 3), within(1e-12, .1)}, ZCDP{within(1e-5, 3)}, DiscreteLaplace{s, rng.IntN(4)},
		DiscreteGaussian{s, rng.IntN(3), rng.IntN(3)},
	}
	m, size := mechanisms[rng.IntN(len(mechanisms))], int(within(2, 300))
	switch rng.IntN(5) {
	case 1, 2:
		m = Poisson{within(1e-5, 1), m}
	case 3:
		m = WithoutReplacement{1 + rng.IntN(size), size, m}
	case 4:
		m = WithReplacement{1 + rng.IntN(size), size, m}
	}
	if rng.IntN(2) == 0 {
		m = Repeat{int(within(1, 2000)), m}
	}
	if rng.IntN(6) == 0 {
		m = Compose{m, mechanisms[rng.IntN(len(mechanisms))]}
	}
	return m, Relation{Kind: RelationKind(rng.IntN(5)), Group: rng.IntN(4)}, within(1e-15, .5)
}

// agree asks the best accountant and another one: numbers or errors of this package, and neither
// below the other's certified lower end.
func agree(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 77))
	e, r, delta := drawn(rng)
	ctx, done := limited(t, fmt.Sprintf("seed %d: %v under %v", seed, e, r))
	defer done()
	g, err := EpsilonBy(ctx, Best{Width: .02}, e, r, delta)
	if err != nil {
		known := errors.Is(err, ErrNoPair) || errors.Is(err, ErrParameter) || errors.Is(err, ErrUnbounded) ||
			errors.Is(err, ErrNotApplicable)
		if !known || g.Kind != None || !math.IsNaN(g.Epsilon) {
			t.Errorf("seed %d: %v under %v: %v, %v", seed, e, r, g, err)
		}
		return
	}
	if !(g.Epsilon >= 0) || math.IsInf(g.Epsilon, 0) || g.Lower > g.Epsilon || g.Kind == None {
		t.Errorf("seed %d: %v under %v: %+v", seed, e, r, g)
	}
	for _, by := range []Accountant{rdp.Accountant{Orders: []float64{1.3, 2, 3, 5, 9, 20, 60, 200}},
		pld.Accountant{Width: .05, Bins: 1 << 12, Work: 300_000}} {
		if o, err := EpsilonBy(ctx, by, e, r, delta); err == nil &&
			(o.Lower > g.Epsilon*(1+1e-12) || g.Lower > o.Epsilon*(1+1e-12)) {
			t.Errorf("seed %d: %v under %v at δ = %v: %+v, by %s %+v", seed, e, r, delta, g, by.Name(), o)
		}
	}
	if d, err := DeltaBy(ctx, Best{Width: .02}, e, r, g.Epsilon); err == nil && d.Lower > delta*(1+1e-9) {
		t.Errorf("seed %d: %v under %v at δ = %v: %+v, but δ there is %+v", seed, e, r, delta, g, d)
	}
}

// questions and firstSeed make a longer run: go test ./dp -run "AccountantsAgree|AnyQuestion"
// -timeout 0 -questions 10000 -seed 1000.
var (
	questions = flag.Int("questions", 20,
		"how many events TestAccountantsAgree draws, and TestAnyQuestion a hundredth of")
	firstSeed = flag.Uint64("seed", 0, "the seed of the first")
)

// No accountant contradicts another, over all mechanisms, samplings and relations.
func TestAccountantsAgree(t *testing.T) {
	for i := range *questions {
		agree(t, *firstSeed+uint64(i))
	}
}
