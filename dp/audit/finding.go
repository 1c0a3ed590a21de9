package audit

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"coupling/dp/internal/check"
)

const in = check.In("audit")

var bad = in.Bad

// usualConfidence is the confidence where none is given.
const usualConfidence = 0.95

// confident checks rng, delta and confidence, and returns the confidence, the default for 0.
func confident(rng *rand.Rand, delta, confidence float64) (float64, error) {
	confidence = cmp.Or(confidence, usualConfidence)
	switch {
	case rng == nil:
		return 0, bad("rng = nil: must be a generator")
	case !(confidence > 0 && confidence < 1):
		return 0, bad("Confidence = %v: must be in (0, 1), or 0 for %v", confidence, usualConfidence)
	}
	return confidence, in.Delta(delta)
}

// Finding is a lower bound of ε.
type Finding struct {
	// Epsilon is the bound, at least 0 and finite.
	Epsilon float64
	// Delta is the δ that it holds at.
	Delta float64
	// Confidence is the least probability, over the runs, that the bound holds.
	Confidence float64
}

// Refutes reports whether the mechanism is not (eps, Delta)-differentially private, with the confidence of the finding.
func (f Finding) Refutes(eps float64) bool { return f.Epsilon > eps }

// String explains the finding in a line.
func (f Finding) String() string {
	return fmt.Sprintf("ε ≥ %.4g at δ = %g (confidence %g)", f.Epsilon, f.Delta, f.Confidence)
}
