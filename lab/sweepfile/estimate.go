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
	past, known := map[string][]lab.Row{}, map[string]map[string]*span{}
	outside := map[string]bool{}
	for _, j := range jobs {
		past[j.Record().Experiment] = nil
	}
	for name := range past {
		rows, err := history(s, name)
		if err != nil {
			return out, err
		}
		past[name], known[name] = thin(rows, most), spans(rows)
	}
	asked := thin(jobs, most)
	total, n := 0.0, 0
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
		n++
		for _, name := range beyond(row, known[id.Experiment]) {
			outside[name] = true
		}
		out.Worst = max(out.Worst, seconds(t))
	}
	if n == 0 {
		return out, nil
	}
	for _, rows := range past {
		out.From += len(rows)
	}
	out.Total = seconds(total / float64(n) * float64(len(jobs)))
	out.Outside = slices.Sorted(maps.Keys(outside))
	return out, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// history returns the rows of the experiment's finished cells.
func history(s *lab.Store, name string) ([]lab.Row, error) {
	var rows []lab.Row
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

// span holds the past values of a parameter.
type span struct {
	low, high float64
	seen      map[string]bool // the values that are not numbers
}

// spans returns the spans of all parameters. A parameter missing from a row is zero.
func spans(rows []lab.Row) map[string]*span {
	out := map[string]*span{}
	for _, row := range rows {
		for name := range row {
			if strings.HasPrefix(name, "param.") && out[name] == nil {
				out[name] = &span{math.Inf(1), math.Inf(-1), map[string]bool{}}
			}
		}
	}
	for _, row := range rows {
		for name, s := range out {
			v, there := row[name]
			x, number := lab.Number(v)
			if number || !there {
				s.low, s.high = min(s.low, x), max(s.high, x)
			}
			if !number {
				s.seen[lab.FormatCell(v)] = true
			}
		}
	}
	return out
}

// beyond returns the parameters of a row whose values are outside the spans.
func beyond(row lab.Row, past map[string]*span) (out []string) {
	for name, v := range row {
		short, ok := strings.CutPrefix(name, "param.")
		if !ok {
			continue
		}
		x, number := lab.Number(v)
		s := past[name]
		if s == nil || number && (x < s.low || x > s.high) || !number && !s.seen[lab.FormatCell(v)] {
			out = append(out, short)
		}
	}
	return out
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
