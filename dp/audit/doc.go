// Package audit bounds the ε of a mechanism from below, by attacking it.
//
// An accountant bounds the privacy of a mechanism on paper. An audit runs the mechanism, and the
// success of an attack gives a lower bound of its ε, with confidence. If the lower bound is above
// the claimed ε, then the code, the accounting or the claim is wrong. If it is below, nothing is
// proved: the attack may be weak, and most are.
//
// # Example
//
// A mechanism is a function that runs on one of two neighbouring data sets, the worlds. An attack
// is a score that is large for outputs in world true:
//
//	game := audit.TwoWorlds[float64]{
//		Run: func(rng *rand.Rand, world bool) (float64, error) {
//			x := 0.0
//			if world {
//				x = 1
//			}
//			return x + 0.5*rng.NormFloat64(), nil // meant to have σ = 1
//		},
//		Score: func(out float64) float64 { return out },
//	}
//	found, err := game.Epsilon(ctx, rng, 0.01) // found.Epsilon > 2.318: this is not the Gaussian of σ = 1
//
// # Findings
//
// For every score: if the mechanism is (ε, δ)-differentially private, a finding is above ε with
// probability at most 1 − Confidence, over the runs. The score may be any function chosen
// beforehand; the best is the privacy loss (Loss; of answers of randomised response, how many are
// true). Looking at several findings and keeping the largest is not covered.
//
// The caller chooses the worlds, as neighbours in the sense of the claim: one record more or less,
// or one record exchanged.
//
// # Sources
//
// Clopper, Pearson 1934. Jagielski, Ullman, Oprea, "Auditing differentially private machine learning" (NeurIPS 2020).
package audit
