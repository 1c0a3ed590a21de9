package audit

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"coupling/lab/logspace"
)

// Test is a set of outputs, by their score: those above Threshold, or those at most Threshold.
type Test struct {
	Threshold float64
	// Above selects the side of the threshold.
	Above bool
	// World is the world in which the set is more likely.
	World bool
}

// Holds reports whether an output with this score is in the set.
func (t Test) Holds(score float64) bool { return score > t.Threshold == t.Above }

// String shows the test.
func (t Test) String() string {
	side := "≤"
	if t.Above {
		side = ">"
	}
	return fmt.Sprintf("score %s %.6g speaks for world %v", side, t.Threshold, t.World)
}

// choose returns the test with the largest estimated bound, from scores in the two worlds. It tries
// both sides and both directions at every score.
func choose(zero, one []float64, delta, confidence float64) Test {
	zero, one = slices.Sorted(slices.Values(zero)), slices.Sorted(slices.Values(one))
	pooled := slices.Concat(zero, one)
	slices.Sort(pooled)
	best, value := Test{Threshold: pooled[len(pooled)/2], Above: true, World: true}, math.Inf(-1)
	for _, tau := range slices.Compact(pooled) {
		below := [2]float64{countAtMost(zero, tau), countAtMost(one, tau)}
		n := [2]float64{float64(len(zero)), float64(len(one))}
		for _, t := range []Test{{tau, true, true}, {tau, true, false}, {tau, false, true}, {tau, false, false}} {
			hits := below
			if t.Above {
				hits = [2]float64{n[0] - below[0], n[1] - below[1]}
			}
			more, less := 1, 0
			if !t.World {
				more, less = 0, 1
			}
			lo, _ := Wilson(hits[more], n[more], confidence)
			_, hi := Wilson(hits[less], n[less], confidence)
			if v := logspace.Log(max(lo-delta, 0) / hi); v > value {
				best, value = t, v
			}
		}
	}
	return best
}

// countAtMost counts the sorted values that are at most x.
func countAtMost(sorted []float64, x float64) float64 {
	return float64(sort.Search(len(sorted), func(i int) bool { return sorted[i] > x }))
}

// Wilson returns the interval of a proportion of which hits of n were seen (E. B. Wilson 1927),
//
//	(p̂ + z²/2n ± z √(p̂(1−p̂)/n + z²/4n²)) / (1 + z²/n),
//
// z being 1.96 at a confidence of .95. It stays in [0, 1], has a width at p̂ = 0 and 1, and covers the
// proportion about as often as it says, where ClopperPearson does at least as often. It takes what was
// counted for independent: an accuracy's says nothing of how results differ between trainings.
func Wilson(hits, n, confidence float64) (lo, hi float64) {
	z := math.Sqrt2 * math.Erfinv(confidence) // with which probability a normal number is in [−z, z]
	p, zz := hits/n, z*z
	mid := (p + zz/(2*n)) / (1 + zz/n)
	half := z / (1 + zz/n) * math.Sqrt(p*(1-p)/n+zz/(4*n*n))
	return max(0, mid-half), min(1, mid+half)
}
