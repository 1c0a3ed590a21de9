package sweepfile

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"coupling/lab"
)

// An Estimate is the time that missing cells may take, from cells like them.
type Estimate struct {
	Cells int           // to compute
	From  int           // the number of past cells used; 0: nothing is known
	Total time.Duration // of computing, summed over cells
	Worst time.Duration // the longest single cell
	// Outside are the parameters for which some cell has a value outside the past's range, or a
	// non-numeric value that is not in the past. The estimate for such a cell is the time of its
	// nearest past cells, which may differ much.
	Outside []string
}

// EstimateTime estimates the time of jobs from the manifests of cells of the same experiments. The
// estimate of a cell is the geometric mean of its three nearest past cells: numbers are compared by
// their logarithms, other values by equality. It ignores the machine: seconds are those of the
// machines that computed the past cells.
func EstimateTime(s *lab.Store, jobs []lab.Job) (Estimate, error) {
	const most = 2000 // of each; beyond, samples
	out := Estimate{Cells: len(jobs)}
	known := map[string][]lab.Row{}
	for _, j := range jobs {
		name := j.Record().Experiment
		if _, ok := known[name]; ok {
			continue
		}
		rows, err := history(s, name)
		if err != nil {
			return out, err
		}
		known[name] = thin(rows, most)
		out.From += len(known[name])
	}
	outside := map[string]bool{}
	total, n := 0.0, 0
	for _, j := range thin(jobs, most) {
		row, err := j.Record().Flatten()
		if err != nil {
			return out, err
		}
		past := known[j.Record().Experiment]
		if len(past) == 0 {
			continue
		}
		t := nearest(row, past)
		total += t
		n++
		for name, v := range row {
			if short, ok := strings.CutPrefix(name, "param."); ok && !covered(past, name, v) {
				outside[short] = true
			}
		}
		out.Worst = max(out.Worst, seconds(t))
	}
	if n > 0 {
		out.Total = seconds(total / float64(n) * float64(len(jobs)))
	}
	out.Outside = slices.Sorted(maps.Keys(outside))
	return out, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// history returns the rows of the experiment's finished cells.
func history(s *lab.Store, name string) (rows []lab.Row, err error) {
	for r, err := range s.Records(name) {
		if err != nil || r.Experiment != name {
			continue // a corrupt record has no time
		}
		row, err := r.Flatten()
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// covered reports whether a value is between those of past cells, or, if it is no number, among them.
// A parameter missing from a row is zero.
func covered(past []lab.Row, column string, v any) bool {
	x, number := lab.Number(v)
	below, above := false, false
	for _, r := range past {
		y, ok := lab.Number(r[column])
		if number && (ok || r[column] == nil) {
			below, above = below || y <= x, above || y >= x
		} else if lab.FormatCell(r[column]) == lab.FormatCell(v) {
			return true
		}
	}
	return below && above
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

// nearest is the estimate of a cell.
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
	s := fmt.Sprintf("%d to compute: about %s of computing, the longest %s, to judge by %d cells",
		e.Cells, round(e.Total), round(e.Worst), e.From)
	if len(e.Outside) > 0 {
		s += "; extrapolated: outside the past range of " + strings.Join(e.Outside, ", ")
	}
	return s
}

func round(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Minute, time.Second, time.Millisecond, time.Microsecond} {
		if d >= 10*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Microsecond)
}
