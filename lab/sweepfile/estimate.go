package sweepfile

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"coupling/lab/store"
)

// EstimateTime estimates the time of numbers of cells, by experiment, if they are like
// those that are stored: "12 to compute: about 3m20s of computing if they are like the 30 that are
// stored, which took 2s to 40s".
func EstimateTime(s *store.Store, jobs map[string]int) string {
	var past []float64 // seconds, on the machines that computed them
	sum, missing := 0., 0
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		missing += jobs[name]
		for r, err := range s.Records(name) {
			if err == nil && r.Experiment == name { // a corrupt record has no time
				past = append(past, r.Manifest.Seconds)
				sum += r.Manifest.Seconds
			}
		}
	}
	n := len(past)
	if n == 0 {
		return fmt.Sprintf("%d to compute; nothing like them is in the store to tell how long that takes", missing)
	}
	return fmt.Sprintf(
		"%d to compute: about %v of computing if they are like the %d that are stored, which took %v to %v",
		missing, rounded(sum*float64(missing)/float64(n)), n, rounded(slices.Min(past)), rounded(slices.Max(past)))
}

func rounded(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}
