package audit

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"coupling/dp/internal/check"
	"coupling/lab/logspace"
)

// TwoWorlds is the game of telling two neighbouring data sets apart from one output of a mechanism.
type TwoWorlds[O any] struct {
	// Run runs the mechanism on the data set of the world. It is called from several goroutines, each with its own rng,
	// and should take all of its randomness from there if the finding is to be reproducible.
	Run func(rng *rand.Rand, world bool) (O, error)
	// Score is large for outputs of the world true. It may be ±Inf, not NaN.
	Score func(out O) float64
	// Trials is the number of runs in each world; 0 means 20,000. One half chooses a test, the other half measures it.
	Trials int
	// Confidence is that of the finding; 0 means 0.95.
	Confidence float64
	// Workers is the number of goroutines; 0 means GOMAXPROCS. The finding does not depend on it.
	Workers int
}

// Distinguished is the finding of TwoWorlds with the test that gave it.
type Distinguished struct {
	Finding
	Test Test
	// Hits are the outputs of world false and true, of Trials each, in the measuring half, for which the test holds.
	Hits   [2]int
	Trials int
}

const chunk = 256 // runs that share an rng

// Epsilon plays the game. The first half of the outputs choose the test (Test); with h₁ of n hits
// in the world where the test holds more often and h₀ in the other one,
//
//	ε ≥ log((p̲(h₁) − δ)/p̄(h₀)),
//
// p̲ and p̄ being the ends of Clopper-Pearson intervals (Jagielski, Ullman, Oprea 2020). The
// largest value that n runs can give is about log(n/log(2/(1−Confidence))). Errors: parameters out
// of range, an error of Run, a score that is NaN, a cancelled context. Cost: 2·Trials runs, and
// sorting Trials scores.
func (g TwoWorlds[O]) Epsilon(ctx context.Context, rng *rand.Rand, delta float64) (Distinguished, error) {
	g.Trials, g.Confidence = cmp.Or(g.Trials, 20_000), cmp.Or(g.Confidence, .95)
	if err := g.check(rng, delta); err != nil {
		return Distinguished{}, err
	}
	scores, err := g.scores(ctx, rng)
	if err != nil {
		return Distinguished{}, err
	}
	half := g.Trials / 2
	test := choose(scores[0][:half], scores[1][:half], delta, g.Confidence)
	out := Distinguished{Test: test, Trials: g.Trials - half}
	for w := range scores {
		for _, s := range scores[w][half:] {
			if test.Holds(s) {
				out.Hits[w]++
			}
		}
	}
	more, less := out.Hits[1], out.Hits[0]
	if !test.World {
		more, less = less, more
	}
	lo, _, err := ClopperPearson(more, out.Trials, g.Confidence) // of counts in range
	_, hi, err2 := ClopperPearson(less, out.Trials, g.Confidence)
	if err := check.All(err, err2); err != nil {
		return Distinguished{}, err
	}
	out.Finding = Finding{
		Epsilon:    logspace.Log(max(lo-delta, hi) / hi), // at least 0
		Delta:      delta,
		Confidence: g.Confidence,
	}
	return out, nil
}

func (g TwoWorlds[O]) check(rng *rand.Rand, delta float64) error {
	switch {
	case g.Run == nil:
		return bad("Run = nil: must be a function")
	case g.Score == nil:
		return bad("Score = nil: must be a function")
	case g.Trials < 2:
		return bad("Trials = %d: must be at least 2, or 0 for 20,000", g.Trials)
	case g.Workers < 0:
		return bad("Workers = %d: must be at least 0", g.Workers)
	case rng == nil:
		return bad("rng = nil: must be a generator")
	case !(g.Confidence > 0 && g.Confidence < 1):
		return bad("Confidence = %v: must be in (0, 1), or 0 for 0.95", g.Confidence)
	}
	return in.Delta(delta)
}

// scores runs the mechanism, in chunks with generators of their own.
func (g TwoWorlds[O]) scores(ctx context.Context, rng *rand.Rand) (scores [2][]float64, err error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cmp.Or(g.Workers, runtime.GOMAXPROCS(0)))
	for w := range scores {
		scores[w] = make([]float64, g.Trials)
		for part := range slices.Chunk(scores[w], chunk) {
			own := rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
			group.Go(func() error { return g.fill(ctx, own, w == 1, part) })
		}
	}
	return scores, group.Wait()
}

// fill plays one chunk.
func (g TwoWorlds[O]) fill(ctx context.Context, rng *rand.Rand, world bool, scores []float64) error {
	for i := range scores {
		if err := ctx.Err(); err != nil {
			return err
		}
		out, err := g.Run(rng, world)
		if err != nil {
			return fmt.Errorf("audit: Run in world %v: %w", world, err)
		}
		s := g.Score(out)
		if s != s {
			return bad("Score = NaN in world %v: must be a number", world)
		}
		scores[i] = s
	}
	return nil
}
