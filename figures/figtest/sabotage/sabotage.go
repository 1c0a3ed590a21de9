// Package sabotage spoils finished cells of figures by faults that the figures do not choose, and asks which of their
// claims fails.
package sabotage

import (
	"cmp"
	_ "embed" // faults.txt
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"coupling/lab"
	"coupling/lab/store"
)

// Presets are the sizes whose claims are asked. At smoke most claims are not.
var Presets = []lab.Preset{lab.Quick, lab.Full, lab.Paper}

//go:embed faults.txt
var table string

// A fault is a way in which results can be worthless.
type fault struct {
	name   string
	rules  []rule
	spared [][2]string // patterns of figures, and what these do not compute
}

// parse reads faults.txt.
func parse() (out []fault, err error) {
	for _, line := range strings.Split(table, "\n") {
		head, rest, _ := strings.Cut(line, ": ")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '=':
			out = append(out, fault{name: line[2:]})
		case line[0] == '-':
			f := &out[len(out)-1]
			f.spared = append(f.spared, [2]string{head[2:], rest})
		default:
			r, err := newRule(head, rest)
			if err != nil {
				return nil, fmt.Errorf("faults.txt: %s: %w", line, err)
			}
			out[len(out)-1].rules = append(out[len(out)-1].rules, r)
		}
	}
	return out, nil
}

// A Row is what a fault does to a figure: at each of Presets a claim that fails and how many of those that are
// asked do, or why there is no such fault.
type Row struct {
	Fault, Figure string
	Caught        [3]string
	Failed, Asked [3]int
	Spared        string
}

// Rows spoils the cells of a figure, which a store holds, by each fault. The error names a fault that changes
// nothing for no reason.
func Rows(store *store.Store, set lab.Setting, f lab.Figure) (rows []Row, err error) {
	defer lab.End(&err)
	var sound [3][]lab.Claim
	for k, preset := range Presets {
		sound[k] = lab.Must(f.Sabotaged(store, set, preset))
	}
	for _, fault := range lab.Must(parse()) {
		row, touched := Row{Fault: fault.name, Figure: f.Name}, false
		spoil := lab.SpoilAll(func(experiment string, params, values []any) {
			for _, r := range fault.rules {
				touched = r.apply(experiment, params, values) || touched
			}
		})
		for k, preset := range Presets {
			row.note(k, sound[k], lab.Must(f.Sabotaged(store, set, preset, spoil)))
		}
		i := slices.IndexFunc(fault.spared, func(s [2]string) bool { ok, _ := path.Match(s[0], f.Name); return ok })
		if !touched && i < 0 {
			return nil, fmt.Errorf("%s: %q changes nothing, and faults.txt gives no reason", f.Name, fault.name)
		}
		if !touched {
			row.Spared = fault.spared[i][1]
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// note counts the claims that are asked and that the fault breaks: they do not hold, and held or were nearer before.
func (r *Row) note(k int, sound, spoiled []lab.Claim) {
	for _, c := range spoiled {
		if c.SkipReason != "" {
			continue
		}
		r.Asked[k]++
		i := slices.IndexFunc(sound, func(s lab.Claim) bool { return s.What == c.What })
		if c.Verdict() == lab.Holds || i >= 0 && !sound[i].Holds() && off(c) <= off(sound[i]) {
			continue
		}
		if r.Failed[k]++; r.Caught[k] == "" {
			r.Caught[k] = c.What
		}
	}
}

// off is how far a claim is from holding.
func off(c lab.Claim) float64 {
	switch c.Relation {
	case lab.AtMost:
		return c.Got - c.Want
	case lab.AtLeast:
		return c.Want - c.Got
	}
	return math.Abs(c.Got - c.Want)
}

// Markdown is the table of rows, by faults.
func Markdown(rows []Row) string {
	var out strings.Builder
	for _, f := range lab.Must(parse()) {
		const head = "| figure | a claim that fails, at quick | at full | at paper | of those asked |\n"
		fmt.Fprintf(&out, "\n## %s\n\n%s| --- | --- | --- | --- | --- |\n", f.name, head)
		for _, r := range rows {
			if r.Fault != f.name || r.Spared != "" {
				continue
			}
			fmt.Fprintf(&out, "| `%s` |", r.Figure)
			for k, what := range r.Caught {
				if k > 0 && what != "" && what == r.Caught[k-1] {
					what = "the same"
				}
				fmt.Fprintf(&out, " %s |", cmp.Or(strings.ReplaceAll(what, "|", "∣"), "**none**"))
			}
			fmt.Fprintf(&out, " %d of %d |\n", r.Failed, r.Asked)
		}
		for _, s := range f.spared {
			fmt.Fprintf(&out, "\nOther figures of `%s`: %s.\n", s[0], s[1])
		}
	}
	return out.String()
}
