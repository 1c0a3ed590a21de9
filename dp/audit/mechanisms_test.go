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
	run   func(rng *rand.Rand, world bool, real float64) ([]float64, error)
	// least is the share of the claimed ε that an audit of 30,000 runs must find: a little less
	// than the smallest that was seen with many seeds.
	least float64
}

// sum is the sum over a Poisson batch of records that are 0, but for the one in question, which is 1.
func sum(rng *rand.Rand, world bool, rate float64) float64 {
	if world && rng.Float64() < rate {
		return 1
	}
	return 0
}

func released(m interface {
	Add(noise.Source, []float64) ([]float64, error)
}, rate float64, steps int,
) func(rng *rand.Rand, world bool) ([]float64, error) {
	return func(rng *rand.Rand, world bool) ([]float64, error) {
		values := make([]float64, steps)
		for i := range values {
			values[i] = sum(rng, world, rate)
		}
		return m.Add(noise.Seeded(rng), values)
	}
}

func games() []game {
	return []game{
		{"gaussian", dp.Gaussian{NoiseMultiplier: 1}, dp.Relation{}, 1e-2,
			func(rng *rand.Rand, world bool, real float64) ([]float64, error) {
				return released(noise.Gaussian{Sigma: real}, 1, 1)(rng, world)
			}, 0.55},
		{"gaussian at small δ", dp.Gaussian{NoiseMultiplier: 1}, dp.Relation{}, 1e-5,
			func(rng *rand.Rand, world bool, real float64) ([]float64, error) {
				return released(noise.Gaussian{Sigma: real}, 1, 1)(rng, world)
			}, 0.3},
		{"laplace", dp.Laplace{Scale: 1}, dp.Relation{}, 0,
			func(rng *rand.Rand, world bool, real float64) ([]float64, error) {
				return released(noise.Laplace{Scale: real}, 1, 1)(rng, world)
			}, 0.85},
		{"laplace composed", dp.Repeat{Times: 4, Event: dp.Laplace{Scale: 2}}, dp.Relation{}, 1e-2,
			func(rng *rand.Rand, world bool, real float64) ([]float64, error) {
				return released(noise.Laplace{Scale: 2 * real}, 1, 4)(rng, world)
			}, 0.7},
		{"sgd", dp.SGD(1, 0.2, 20), dp.Relation{}, 1e-3,
			func(rng *rand.Rand, world bool, real float64) ([]float64, error) {
				return released(noise.Gaussian{Sigma: real}, 0.2, 20)(rng, world)
			}, 0.4},
		{"coarse gaussian", coarse, dp.Relation{}, 1e-2,
			func(rng *rand.Rand, world bool, real float64) ([]float64, error) {
				return released(noise.Gaussian{Sigma: 1.5 * real, Granularity: 1}, 1, 1)(rng, world)
			}, 0.5},
		// Fixed batches, in the unit of an exchange: ordinary records are 0, one that is 1 is
		// replaced by one that is −1.
		{"without replacement", dp.WithoutReplacement{Batch: 50, Size: 100, Event: dp.Gaussian{NoiseMultiplier: 1}},
			exchanged, 1e-2, func(rng *rand.Rand, world bool, real float64) ([]float64, error) {
				return noise.Gaussian{Sigma: real}.Add(noise.Seeded(rng), []float64{special(rng, world, 0, 1, -1)})
			}, 0.5},
		{"with replacement", dp.WithReplacement{Batch: 100, Size: 100, Event: dp.Gaussian{NoiseMultiplier: 2}},
			exchanged, 1e-2, func(rng *rand.Rand, world bool, real float64) ([]float64, error) {
				return noise.Gaussian{Sigma: 2 * real}.Add(noise.Seeded(rng), []float64{draws(rng, world, 100, 100)})
			}, 0.5},
		// A sum of clipped records: ordinary ones are −1, and so is the one that replaces a record of 1.
		{"clipped sum without replacement", dp.FixedSGD(1, 50, 100, 1), dp.Relation{Kind: dp.Exchange}, 1e-2,
			func(rng *rand.Rand, world bool, real float64) ([]float64, error) {
				return noise.Gaussian{Sigma: real}.Add(noise.Seeded(rng), []float64{special(rng, world, -1, 1, -1)})
			}, 0.5},
	}
}

var exchanged = dp.Relation{Kind: dp.Substitution}

// special is the sum over 50 of 100 records, less what it is when all are ordinary: one of them is
// not, and differs between the worlds.
func special(rng *rand.Rand, world bool, ordinary, yes, no float64) float64 {
	switch {
	case rng.Float64() >= 0.5: // not drawn
		return 0
	case world:
		return yes - ordinary
	}
	return no - ordinary
}

// draws is the sum of draws with replacement from records that are 0, but for one, which is 1 in
// one world and −1 in the other.
func draws(rng *rand.Rand, world bool, batch, size int) float64 {
	k := 0.0
	for range batch {
		if rng.IntN(size) == 0 {
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
	t.Helper()
	branches := must.Get(dp.Branches(g.event, g.under))
	score := func(out []float64) float64 { return out[0] } // a monotone loss
	if _, ok := branches[0].Steps[0].Pair.(pair.Line); ok {
		score = must.Get(Loss(branches[0].Steps))
	}
	w := TwoWorlds[[]float64]{
		Run:    func(rng *rand.Rand, world bool) ([]float64, error) { return g.run(rng, world, real) },
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
	g.run = func(rng *rand.Rand, world bool, real float64) ([]float64, error) {
		return released(noise.Gaussian{Sigma: real}, 1, 20)(rng, world)
	}
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
	for _, g := range games() {
		if g.name != "clipped sum without replacement" {
			continue
		}
		g.event, g.under = dp.WithoutReplacement{Batch: 50, Size: 100, Event: dp.Gaussian{NoiseMultiplier: 1}},
			exchanged
		found, claim := play(t, g, 1)
		t.Logf("claimed in the wrong unit %.4f, found %v", claim, found)
		if !found.Refutes(claim) {
			t.Errorf("claimed ε = %v in the wrong unit, found %v: not caught", claim, found)
		}
		return
	}
	t.Fatal("no such game")
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
