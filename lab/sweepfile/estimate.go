package sweepfile

import (
	"fmt"
	"slices"
	"time"

	"coupling/lab"
)

// An Estimate guesses the time of missing cells from the stored cells of the same experiments.
type Estimate struct {
	Cells int             // to compute
	Past  []time.Duration // of stored cells, the shortest first, on the machines that computed them
}

// EstimateTime looks up what stored cells of the experiments of jobs took.
func EstimateTime(s *lab.Store, jobs []lab.Job) (out Estimate) {
	out.Cells = len(jobs)
	seen := map[string]bool{}
	for _, j := range jobs {
		name := j.Record().Experiment
		if seen[name] {
			continue
		}
		seen[name] = true
		for r, err := range s.Records(name) {
			if err == nil && r.Experiment == name { // a corrupt record has no time
				out.Past = append(out.Past, time.Duration(r.Manifest.Seconds*float64(time.Second)))
			}
		}
	}
	slices.Sort(out.Past)
	return out
}

// Total is the time of computing all cells, one after the other, if they take as long as the past ones on average.
func (e Estimate) Total() (sum time.Duration) {
	for _, t := range e.Past {
		sum += t
	}
	return time.Duration(float64(sum) * float64(e.Cells) / float64(max(len(e.Past), 1)))
}

// String is "12 to compute: about 3m20s of computing if they are like the 30 that are stored, which took 2s to 40s".
func (e Estimate) String() string {
	n := len(e.Past)
	if n == 0 {
		return fmt.Sprintf("%d to compute; nothing like them is in the store to tell how long that takes", e.Cells)
	}
	return fmt.Sprintf("%d to compute: about %s of computing if they are like the %d that are stored, which took %s to %s",
		e.Cells, round(e.Total()), n, round(e.Past[0]), round(e.Past[n-1]))
}

func round(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Minute, time.Second, time.Millisecond} {
		if d >= 10*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Microsecond)
}
