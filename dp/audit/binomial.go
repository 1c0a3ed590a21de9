package audit

import (
	"gonum.org/v1/gonum/mathext"

	"coupling/lab/root"
)

// ClopperPearson returns the interval of success probabilities that hits of trials do not refute:
// each end is wrong with probability at most (1−confidence)/2, exactly and for any probability.
// Errors: hits not in [0, trials], no trials, confidence not in (0, 1). The ends are rounded
// outwards.
func ClopperPearson(hits, trials int, confidence float64) (lo, hi float64, err error) {
	if trials < 1 || hits < 0 || hits > trials {
		return 0, 0, bad("hits = %d, trials = %d: must be in 0 ≤ hits ≤ trials, trials ≥ 1", hits, trials)
	}
	if !(confidence > 0 && confidence < 1) {
		return 0, 0, bad("confidence = %v: must be in (0, 1)", confidence)
	}
	tail := (1 - confidence) / 2
	return 1 - upper(trials-hits, trials, tail), upper(hits, trials, tail), nil
}

// outwards bounds the relative rounding error of the incomplete beta function.
const outwards = 1e-9

// upper returns the p with P(Bin(n, p) ≤ k) = tail, rounded up. It is 1 for k = n.
func upper(k, n int, tail float64) float64 {
	if k == n {
		return 1
	}
	least := root.Bisect(func(p float64) bool { return atMost(k, n, p) <= tail }, float64(k)/float64(n), 1)
	return min(1, least*(1+outwards))
}

// atMost returns P(Bin(n, p) ≤ k) for k < n.
func atMost(k, n int, p float64) float64 {
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-p)
}
