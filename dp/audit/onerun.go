package audit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"coupling/dp/internal/check"
	"coupling/dp/internal/root"
	"coupling/lab/logspace"
)

// OneRun audits a mechanism with one run on a data set with canaries: Canaries records, each
// included with probability 1/2, independently. The output gives a score for each canary. For the
// Guesses canaries of largest |score| the attack guesses that those with a positive score were
// included; it does not guess for the others.
type OneRun struct {
	// Run runs the mechanism on the data with the canaries i that are included[i], and returns a
	// score for each: positive and large when the output suggests that the canary was included. A
	// log-likelihood ratio is best. Run must use included only to make the data set.
	Run func(ctx context.Context, rng *rand.Rand, included []bool) (scores []float64, err error)
	// Canaries is their number, at least 1.
	Canaries int
	// Guesses is at most Canaries; 0 means a quarter of them, rounded up. It must be fixed before
	// the run: few guesses are more often right, many give more evidence.
	Guesses int
	// Confidence is that of the finding; 0 means 0.95.
	Confidence float64
}

// Guessed is the finding of OneRun.
type Guessed struct {
	Finding
	Guesses, Correct int
}

// Epsilon runs the mechanism once. The bound is that of LowerBound. Errors: parameters out of range, an error of Run,
// scores that are NaN or not one for each canary.
func (a OneRun) Epsilon(ctx context.Context, rng *rand.Rand, delta float64) (Guessed, error) {
	guesses := cmp.Or(a.Guesses, (a.Canaries+3)/4)
	confidence, err := a.check(rng, guesses, delta)
	if err != nil {
		return Guessed{}, err
	}
	included := make([]bool, a.Canaries)
	for i := range included {
		included[i] = rng.Uint64()>>63 == 1
	}
	scores, err := a.Run(ctx, rng, slices.Clone(included))
	if err != nil {
		return Guessed{}, fmt.Errorf("audit: Run: %w", err)
	}
	if len(scores) != a.Canaries {
		return Guessed{}, bad("Run: %d scores for %d canaries: must be one each", len(scores), a.Canaries)
	}
	order := make([]int, len(scores))
	for i, s := range scores {
		if math.IsNaN(s) {
			return Guessed{}, bad("scores[%d] = NaN: must be a number", i)
		}
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(math.Abs(scores[j]), math.Abs(scores[i])) })
	correct := 0
	for _, i := range order[:guesses] {
		if included[i] == (scores[i] > 0) {
			correct++
		}
	}
	eps, err := LowerBound(a.Canaries, guesses, correct, delta, confidence)
	if err != nil {
		return Guessed{}, err
	}
	return Guessed{Finding{eps, delta, confidence}, guesses, correct}, nil
}

func (a OneRun) check(rng *rand.Rand, guesses int, delta float64) (confidence float64, err error) {
	switch {
	case a.Run == nil:
		return 0, bad("Run = nil: must be a function")
	case a.Canaries < 1:
		return 0, bad("Canaries = %d: must be at least 1", a.Canaries)
	case guesses < 1 || guesses > a.Canaries:
		return 0, bad("Guesses = %d: must be in [1, Canaries = %d], or 0", guesses, a.Canaries)
	}
	return confident(rng, delta, a.Confidence)
}

// PValue bounds the probability that, of m canaries, a guesser who guesses r is correct at least v times, when the mechanism is
// (eps, delta)-differentially private in each canary (SNJ, Theorem 5.2 and its corollary): with W ~ Bin(r, e^ε/(1+e^ε)),
//
//	p = P(W ≥ v) + 2mδ·max_{1≤i≤v} P(v−i ≤ W < v)/i.
//
// For δ = 0 it is attained by randomised response on every canary. Errors: not 0 ≤ v ≤ r ≤ m, m < 1, eps negative or
// not finite, delta not in [0, 1). It is rounded up. Cost: O(v) at most.
func PValue(m, r, v int, eps, delta float64) (float64, error) {
	if m < 1 || r < 0 || r > m || v < 0 || v > r {
		return 0, bad("canaries = %d, guesses = %d, correct = %d: must be in 0 ≤ correct ≤ guesses ≤ canaries, canaries ≥ 1", m, r, v)
	}
	if err := check.All(in.Epsilon(eps), in.Delta(delta)); err != nil {
		return 0, err
	}
	p := atLeast(v, r, 1/(1+math.Exp(-eps)))
	if delta > 0 && v > 0 {
		p += 2 * float64(m) * delta * steepest(r, v, eps)
	}
	return min(1, p*(1+outwards)), nil
}

// steepest returns max_i P(v−i ≤ W < v)/i.
func steepest(r, v int, eps float64) float64 {
	best, sum := 0.0, 0.0
	log := logMass(v-1, r, eps)
	for i := 1; i <= v; i++ {
		sum += math.Exp(log)
		best = max(best, sum/float64(i))
		if float64(i)*best >= 1 { // further sums are at most 1
			break
		}
		k := v - i
		log += logspace.Log(float64(k)/float64(r-k+1)) - eps // mass of k − 1 from that of k; −Inf after k = 0
	}
	return best
}

// LowerBound returns the largest ε such that PValue is at most 1 − confidence there and at all smaller multiples of 1/64:
// a mechanism that is (ε, δ)-differentially private gets a larger value with probability at most 1 − confidence. It is 0
// where ε = 0 is not refuted.
func LowerBound(canaries, guesses, correct int, delta, confidence float64) (float64, error) {
	if !(confidence > 0 && confidence < 1) {
		return 0, bad("confidence = %v: must be in (0, 1)", confidence)
	}
	if _, err := PValue(canaries, guesses, correct, 0, delta); err != nil {
		return 0, err
	}
	stands := func(eps float64) bool { // of parameters that are in range
		p, _ := PValue(canaries, guesses, correct, eps, delta)
		return p > 1-confidence || p >= 1
	}
	const step = 1.0 / 64
	hi := 0.0
	for !stands(hi) {
		hi += step
	}
	if hi == 0 {
		return 0, nil
	}
	return max(0, root.Bisect(stands, hi-step, hi)*(1-1e-15)), nil // where it does not stand yet
}
