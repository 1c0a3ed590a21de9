package audit

import (
	"context"
	"math/rand/v2"
	"testing"

	"coupling/dp"
	"coupling/dp/noise"
	"coupling/dp/pair"
	"coupling/lab/must"
)

// The mechanisms of dp as they would be run: a data set of values in [0, 1], of which one is 1 and
// there or not, its sum over a batch, and noise from dp/noise. The noise is real times what it
// should be.

type game struct {
	name  string
	event dp.Event // the claim
	under dp.Relation
	delta float64
	run   func(real float64) run
	// least is the share of the claimed ε that an audit of 30,000 runs must find: a little less
	// than the smallest that was seen with many seeds.
	least float64
}

type run func(rng *rand.Rand, world bool) ([]float64, error)

// sum draws the sum over a batch.
type sum func(rng *rand.Rand, world bool) float64

// sampled is the sum over a Poisson batch of records that are 0, but for the one in question, which is 1.
func sampled(rate float64) sum {
	return func(rng *rand.Rand, world bool) float64 {
		if world && rng.Float64() < rate {
			return 1
		}
		return 0
	}
}

func released(m interface {
	Add(noise.Source, []float64) ([]float64, error)
}, draw sum, steps int) run {
	return func(rng *rand.Rand, world bool) ([]float64, error) {
		values := make([]float64, steps)
		for i := range values {
			values[i] = draw(rng, world)
		}
		return m.Add(noise.Seeded(rng), values)
	}
}

func games() []game {
	one := dp.Gaussian{NoiseMultiplier: 1}
	gaussian := func(scale float64, draw sum, steps int) func(real float64) run {
		return func(real float64) run { return released(noise.Gaussian{Sigma: scale * real}, draw, steps) }
	}
	laplace := func(scale float64, steps int) func(real float64) run {
		return func(real float64) run { return released(noise.Laplace{Scale: scale * real}, sampled(1), steps) }
	}
	return []game{
		{"gaussian", one, dp.Relation{}, 1e-2, gaussian(1, sampled(1), 1), 0.55},
		{"gaussian at small δ", one, dp.Relation{}, 1e-5, gaussian(1, sampled(1), 1), 0.3},
		{"laplace", dp.Laplace{Scale: 1}, dp.Relation{}, 0, laplace(1, 1), 0.85},
		{"laplace composed", dp.Repeat{Times: 4, Event: dp.Laplace{Scale: 2}}, dp.Relation{}, 1e-2, laplace(2, 4), 0.7},
		{"sgd", dp.SGD(1, 0.2, 20), dp.Relation{}, 1e-3, gaussian(1, sampled(0.2), 20), 0.4},
		{"coarse gaussian", coarse, dp.Relation{}, 1e-2, func(real float64) run {
			return released(noise.Gaussian{Sigma: 1.5 * real, Granularity: 1}, sampled(1), 1)
		}, 0.5},
		// Fixed batches, in the unit of an exchange: ordinary records are 0, one that is 1 is
		// replaced by one that is −1.
		{"without replacement", dp.WithoutReplacement{Batch: 50, Size: 100, Event: one}, exchanged, 1e-2,
			gaussian(1, special(0, 1, -1), 1), 0.5},
		{"with replacement", dp.WithReplacement{Batch: 100, Size: 100, Event: dp.Gaussian{NoiseMultiplier: 2}},
			exchanged, 1e-2, gaussian(2, draws, 1), 0.5},
		// A sum of clipped records: ordinary ones are −1, and so is the one that replaces a record of 1.
		{"clipped sum without replacement", dp.FixedSGD(1, 50, 100, 1), dp.Relation{Kind: dp.Exchange}, 1e-2,
			gaussian(1, special(-1, 1, -1), 1), 0.5},
	}
}

var exchanged = dp.Relation{Kind: dp.Substitution}

// special is the sum over 50 of 100 records, less what it is when all are ordinary: one of them is
// not, and differs between the worlds.
func special(ordinary, yes, no float64) sum {
	return func(rng *rand.Rand, world bool) float64 {
		switch {
		case rng.Float64() >= 0.5: // not drawn
			return 0
		case world:
			return yes - ordinary
		}
		return no - ordinary
	}
}

// draws is the sum of 100 draws with replacement from as many records that are 0, but for one, which is 1 in one world
// and −1 in the other.
func draws(rng *rand.Rand, world bool) float64 {
	k := 0.0
	for range 100 {
		if rng.IntN(100) == 0 {
			k++
		}
	}
	if world {
		return k
	}
	return -k
}

// coarse is the event of integer noise.
var coarse = func() dp.Event {
	return must.Get(noise.Gaussian{Sigma: 1.5, Granularity: 1}.Event(noise.Query{Sensitivity: 1, OnGrid: true}))
}()

// sure is the confidence of these tests: with 0.95 one in a few dozen sound mechanisms may be accused, and is.
const sure = 0.999

// play audits a game whose noise is real times what it should be, with the likelihood ratio of the claim.
func play(t *testing.T, g game, real float64) (found Distinguished, claim float64) {
	branches := must.Get(dp.Branches(g.event, g.under))
	score := func(out []float64) float64 { return out[0] } // a monotone loss
	if _, ok := branches[0].Steps[0].Pair.(pair.Line); ok {
		score = must.Get(Loss(branches[0].Steps))
	}
	w := TwoWorlds[[]float64]{
		Run:    g.run(real),
		Score:  score,
		Trials: 30_000, Confidence: sure,
	}
	found = must.Get(w.Epsilon(context.Background(), rand.New(rand.NewPCG(20, 24)), g.delta))
	bound := must.Get(dp.Epsilon(t.Context(), g.event, g.under, g.delta))
	return found, bound.Epsilon
}

// Our mechanisms have the ε that is claimed for them, as far as the strongest attack tells, and the attack is strong.
func TestMechanismsHoldTheirClaims(t *testing.T) {
	for _, g := range games() {
		t.Run(g.name, func(t *testing.T) {
			found, claim := play(t, g, 1)
			t.Logf("claimed %.4f, found %v, %v", claim, found, found.Test)
			if found.Refutes(claim) {
				t.Errorf("claimed ε = %v, found %v", claim, found)
			}
			if found.Epsilon < g.least*claim {
				t.Errorf("claimed ε = %v, found %v: the attack is weak", claim, found)
			}
		})
	}
}

// Half the noise is caught.
func TestHalfTheNoiseIsCaught(t *testing.T) {
	for _, g := range games() {
		t.Run(g.name, func(t *testing.T) {
			found, claim := play(t, g, 0.5)
			t.Logf("claimed %.4f, found %v", claim, found)
			if !found.Refutes(claim) {
				t.Errorf("claimed ε = %v, found %v: not caught", claim, found)
			}
		})
	}
}

// Other ways to be wrong: a batch that holds everybody where a sampled one was accounted for, and
// randomised response that tells the truth more often than it says.
func TestBrokenMechanismsAreCaught(t *testing.T) {
	g := games()[4]
	g.run = func(real float64) run { return released(noise.Gaussian{Sigma: real}, sampled(1), 20) }
	if found, claim := play(t, g, 1); !found.Refutes(claim) {
		t.Errorf("no sampling: claimed ε = %v, found %v", claim, found)
	}
	for truth, caught := range map[float64]bool{0.75: false, 0.8: true} {
		found := must.Get(answers(truth, 4, 20_000, sure).Epsilon(context.Background(), rand.New(rand.NewPCG(3, 1)), 0))
		claim := dp.Repeat{Times: 4, Event: dp.RandomizedResponse{Truth: 0.75}}
		bound := must.Get(dp.Epsilon(t.Context(), claim, dp.Relation{}, 0))
		t.Logf("truth %v: claimed %.4f, found %v", truth, bound.Epsilon, found)
		if found.Refutes(bound.Epsilon) != caught {
			t.Errorf("truth %v: claimed ε = %v, found %v, want caught: %v", truth, bound.Epsilon, found, caught)
		}
		if found.Epsilon < 0.7*bound.Epsilon {
			t.Errorf("truth %v: claimed ε = %v, found %v: the attack is weak", truth, bound.Epsilon, found)
		}
	}
}

// The unit of fixed batches is not the norm that records are clipped to: taking it for that claims too little.
func TestTheUnitOfFixedBatchesMatters(t *testing.T) {
	g := games()[8]
	g.event, g.under = dp.WithoutReplacement{Batch: 50, Size: 100, Event: dp.Gaussian{NoiseMultiplier: 1}}, exchanged
	found, claim := play(t, g, 1)
	t.Logf("%s, claimed in the wrong unit %.4f, found %v", g.name, claim, found)
	if !found.Refutes(claim) {
		t.Errorf("%s: claimed ε = %v in the wrong unit, found %v: not caught", g.name, claim, found)
	}
}

// answers is the game of randomised response on one bit, several times.
func answers(truth float64, times, trials int, confidence float64) TwoWorlds[[]bool] {
	return TwoWorlds[[]bool]{
		Run: func(rng *rand.Rand, world bool) ([]bool, error) {
			bits := make([]bool, times)
			for i := range bits {
				bits[i] = world
			}
			return noise.Response{Truth: truth}.Tell(noise.Seeded(rng), bits)
		},
		Score:      Response,
		Trials:     trials,
		Confidence: confidence,
	}
}
