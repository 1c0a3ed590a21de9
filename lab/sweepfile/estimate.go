package sweepfile

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"coupling/lab"
)

// An Estimate is the time that missing cells may take, from cells like them.
type Estimate struct {
	Cells int           // to compute
	From  int           // past cells that it rests on; 0: nothing is known
	Total time.Duration // of computing, summed over cells
	Worst time.Duration // the longest single cell
}

// EstimateTime foretells the time of jobs from the manifests of cells of the same
// experiments. Each cell is given the geometric mean of its three nearest
// relatives: numbers are compared by their logarithms,
// anything else by being the same. It knows nothing of the machine:
// seconds are those of the machines that computed the past.
func EstimateTime(s *lab.Store, jobs []lab.Job) (Estimate, error) {
	const most = 2000 // of each; beyond, samples
	out := Estimate{Cells: len(jobs)}
	past := map[string][]lab.Row{}
	for _, j := range jobs {
		past[j.Record().Experiment] = nil
	}
	for name := range past {
		rows, err := history(s, name)
		if err != nil {
			return out, err
		}
		past[name] = thin(rows, most)
	}
	asked := thin(jobs, most)
	total, known := 0.0, 0
	for _, j := range asked {
		id := j.Record()
		row, err := id.Flatten()
		if err != nil {
			return out, err
		}
		if len(past[id.Experiment]) == 0 {
			continue
		}
		t := nearest(row, past[id.Experiment])
		total += t
		known++
		out.Worst = max(out.Worst, seconds(t))
	}
	if known == 0 {
		return out, nil
	}
	for _, rows := range past {
		out.From += len(rows)
	}
	out.Total = seconds(total / float64(known) * float64(len(jobs)))
	return out, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// history returns the rows of the experiment's finished cells.
func history(s *lab.Store, name string) ([]lab.Row, error) {
	var rows []lab.Row
	for r, err := range s.Records(name) {
		if err != nil || r.Experiment != name {
			continue // a corrupt record foretells nothing
		}
		row, err := r.Flatten()
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// thin returns at most n of the entries, evenly spread.
func thin[T any](in []T, n int) []T {
	if len(in) <= n {
		return in
	}
	out := make([]T, n)
	for i := range out {
		out[i] = in[i*len(in)/n]
	}
	return out
}

func nearest(row lab.Row, past []lab.Row) float64 {
	type relative struct{ distance, log float64 }
	all := make([]relative, len(past))
	for i, p := range past {
		t, _ := lab.Number(p["manifest.seconds"])
		all[i] = relative{apart(row, p), math.Log(max(t, 1e-6))}
	}
	slices.SortFunc(all, func(a, b relative) int { return cmp.Compare(a.distance, b.distance) })
	sum, n := 0.0, min(3, len(all))
	for _, r := range all[:n] {
		sum += r.log
	}
	return math.Exp(sum / float64(n))
}

// apart sums over parameters |log a − log b| of positive numbers, and 1 where
// others differ.
func apart(a, b lab.Row) (d float64) {
	for name, va := range a {
		if !strings.HasPrefix(name, "param.") {
			continue
		}
		x, okx := lab.Number(va)
		y, oky := lab.Number(b[name])
		switch {
		case okx && oky && x > 0 && y > 0:
			d += math.Abs(math.Log(x / y))
		case lab.FormatCell(va) != lab.FormatCell(b[name]):
			d++
		}
	}
	return d
}

// String is "12 cells, about 3m20s of computing (the longest 40s), from 30 past cells".
func (e Estimate) String() string {
	if e.From == 0 {
		return fmt.Sprintf("%d to compute; nothing like them is in the store to tell how long that takes", e.Cells)
	}
	return fmt.Sprintf("%d to compute: about %s of computing, the longest %s, to judge by %d cells",
		e.Cells, round(e.Total), round(e.Worst), e.From)
}

func round(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Minute, time.Second, time.Millisecond, time.Microsecond} {
		if d >= 10*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Microsecond)
}
