package sweepfile

import (
	"fmt"
	"slices"
	"time"

	"coupling/lab/store"
)

// EstimateTime says what computing jobs will take, if they are like the stored cells of the same experiments: "12 to
// compute: about 3m20s of computing if they are like the 30 that are stored, which took 2s to 40s".
func EstimateTime(s *store.Store, jobs []store.Job) string {
	var past []float64 // seconds, on the machines that computed them
	sum, seen := 0., map[string]bool{}
	for _, j := range jobs {
		name := j.Record().Experiment
		if seen[name] {
			continue
		}
		seen[name] = true
		for r, err := range s.Records(name) {
			if err == nil && r.Experiment == name { // a corrupt record has no time
				past = append(past, r.Manifest.Seconds)
				sum += r.Manifest.Seconds
			}
		}
	}
	n := len(past)
	if n == 0 {
		return fmt.Sprintf("%d to compute; nothing like them is in the store to tell how long that takes", len(jobs))
	}
	return fmt.Sprintf("%d to compute: about %v of computing if they are like the %d that are stored, which took %v to %v",
		len(jobs), rounded(sum*float64(len(jobs))/float64(n)), n, rounded(slices.Min(past)), rounded(slices.Max(past)))
}

// rounded has two digits or more.
func rounded(seconds float64) time.Duration {
	d := time.Duration(seconds * float64(time.Second))
	for _, unit := range []time.Duration{time.Minute, time.Second, time.Millisecond} {
		if d >= 10*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Microsecond)
}
