package audit

import (
	"fmt"
	"math"
	"slices"

	"coupling/dp"
	"coupling/dp/pair"
)

// Loss returns the strongest score for outputs in the coordinates of dominating pairs (pair.Line):
// the sum of their privacy losses log p/q, by the lemma of Neyman and Pearson. World true is P.
// Outputs are listed step by step, Times of each; a list of another length scores NaN, which the
// audit refuses.
//
// For the sampled Gaussian on real data: dp.Branches of the event, the first branch, where the
// record with value 1 is removed from a sum that is 0 without it; a batch of the true world then
// holds it with the sampling probability. Errors: a pair that is not a Line, such as that of
// randomised response (there the number of true answers serves).
func Loss(steps []pair.Step) (func(out []float64) float64, error) {
	steps = slices.Clone(steps)
	lines, n := make([]pair.Line, len(steps)), 0
	for i, s := range steps {
		line, ok := s.Pair.(pair.Line)
		if !ok {
			return nil, fmt.Errorf("audit: steps[%d] = %v: has no real coordinate: %w", i, s.Pair, dp.ErrNotApplicable)
		}
		if s.Times < 0 {
			return nil, bad("steps[%d].Times = %d: must be at least 0", i, s.Times)
		}
		lines[i] = line
		n += s.Times
	}
	return func(out []float64) float64 {
		if len(out) != n {
			return math.NaN()
		}
		sum := 0.0
		for i, line := range lines {
			for _, x := range out[:steps[i].Times] {
				_, loss := line.At(x)
				sum += loss
			}
			out = out[steps[i].Times:]
		}
		return sum
	}, nil
}
