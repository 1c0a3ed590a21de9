// Package audit bounds the ε of a mechanism from below, by attacking it.
//
// An accountant says how private a mechanism is on paper. An audit runs it: what an attacker gets out of it is a lower
// bound of its ε, with confidence. When the lower bound is above the ε that was claimed, then the code, the accounting
// or the claim is wrong. When it is below, nothing is proved: the attack may be weak, and most are.
//
// # In words
//
// A mechanism is a function that runs on one of two neighbouring data sets, the worlds, and an attack is a score that is
// large for outputs of the one:
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
// OneRun needs a single run, such as one training of a network, on a data set with many canaries, each put in by a coin;
// the attack guesses the coins. It is weaker: its theorem is sharp for randomised response, and for Gaussian noise with
// σ = 1 and δ = 1e-5 it finds about half of the ε that there is.
//
// # What a finding says
//
// Whatever the score, if the mechanism is (ε, δ)-differentially private then a finding is above ε with probability at
// most 1 − Confidence, over the runs. The score may be anything that was chosen before, and best is the privacy loss
// (Loss, Response). Looking at several findings and keeping the largest is not covered.
//
// Which pairs of worlds are neighbours is the caller's: a record more or less, or one record exchanged, as claimed.
//
// # Sources
//
// Clopper, Pearson 1934. Jagielski, Ullman, Oprea, "Auditing differentially private machine learning" (NeurIPS 2020).
// Steinke, Nasr, Jagielski, "Privacy auditing with one (1) training run" (NeurIPS 2023), cited as SNJ.
package audit
