package store

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Row is a record flattened for tables: columns by dotted name. The cells are
// string, float64, bool, json.Number (integers), nil or []any (as JSON has it).
type Row map[string]any

// columnGroups are what the names of columns begin with, in the order of a table.
var columnGroups = []string{"key", "experiment", "version", "code", "seed", "param", "value", "error", "manifest"}

// Flatten returns the record as a row: key, experiment, version, code, seed, then
// param.NAME and value.NAME with dots into nested objects, and the manifest's
// start, seconds and device. A list stays one column.
func (r Record) Flatten() (Row, error) {
	row := Row{
		"key": string(r.Key), "experiment": r.Experiment,
		"version": json.Number(fmt.Sprint(r.Version)), "seed": json.Number(fmt.Sprint(r.Seed)),
		"manifest.start":   r.Manifest.Start.Format("2006-01-02T15:04:05.000Z07:00"),
		"manifest.seconds": r.Manifest.Seconds, "manifest.device": r.Manifest.Device,
		"manifest.commit": r.Manifest.Commit,
	}
	if r.Code != "" {
		row["code"] = r.Code
	}
	if r.Error != "" {
		row["error"] = r.Error
	}
	for prefix, raw := range map[string]json.RawMessage{"param": r.Params, "value": r.Value} {
		if len(raw) == 0 {
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var v any
		if err := dec.Decode(&v); err != nil {
			return nil, fmt.Errorf("lab: %s of %s: %w", prefix, r.Key, err)
		}
		row.add(prefix, v)
	}
	return row, nil
}

func (row Row) add(name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			row.add(name+"."+k, e)
		}
	case json.Number:
		row[name] = number(v)
	case string: // see codec.go
		if f, ok := Number(v); ok {
			row[name] = f
		} else {
			row[name] = v
		}
	default:
		row[name] = v
	}
}

// number is the float64 that n is, or n itself if it is an integer.
func number(n json.Number) any {
	if strings.ContainsAny(string(n), ".eE") {
		if f, err := n.Float64(); err == nil {
			return f
		}
	}
	return n
}

// Columns returns the columns of all rows: those of the record, then parameters,
// values and manifest, each group in alphabetical order.
func Columns(rows []Row) []string {
	set := map[string]bool{}
	for _, r := range rows {
		for c := range r {
			set[c] = true
		}
	}
	group := func(c string) int {
		return slices.IndexFunc(columnGroups, func(g string) bool { return strings.HasPrefix(c, g) })
	}
	return slices.SortedFunc(maps.Keys(set), func(a, b string) int {
		return cmp.Or(group(a)-group(b), strings.Compare(a, b))
	})
}

// WriteCSV writes rows under a header of [Columns]. A cell that a row lacks is empty; NaN, +Inf and
// -Inf are written so. Text that a spreadsheet would take for a formula gets an apostrophe before it.
func WriteCSV(w io.Writer, rows []Row) error {
	lines := [][]string{Columns(rows)}
	for _, r := range rows {
		var line []string
		for _, c := range lines[0] {
			cell := FormatCell(r[c])
			if _, isText := r[c].(string); isText && strings.IndexAny(cell, "=+-@\t\r") == 0 {
				cell = "'" + cell
			}
			line = append(line, cell)
		}
		lines = append(lines, line)
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// A Difference is one column in which two records differ, or a metric of both.
type Difference struct {
	Column string `json:"column"`
	A      string `json:"a"` // empty where a side lacks the column
	B      string `json:"b"`
	Equal  bool   `json:"equal"`
	// "+0.5 (+25.0 %)", B−A and its share of |A|; empty if they are equal or no numbers
	Change string `json:"change"`
}

// A Comparison is two finished cells side by side.
type Comparison struct {
	Params  []Difference `json:"params"`  // those that differ, seed, version, code and experiment included
	Metrics []Difference `json:"metrics"` // every value, equal ones included
	Context []Difference `json:"context"` // other differences: commit, device
}

// Diff compares two records.
func Diff(a, b Record) (Comparison, error) {
	ra, errA := a.Flatten()
	rb, errB := b.Flatten()
	if err := errors.Join(errA, errB); err != nil {
		return Comparison{}, err
	}
	c := Comparison{[]Difference{}, []Difference{}, []Difference{}}
	for _, col := range Columns([]Row{ra, rb}) {
		d := Difference{Column: col, A: FormatCell(ra[col]), B: FormatCell(rb[col])}
		d.Equal = d.A == d.B
		x, okX := Number(ra[col])
		y, okY := Number(rb[col])
		if okX && okY && !d.Equal {
			d.Change = fmt.Sprintf("%+.4g (%+.1f %%)", y-x, 100*(y-x)/math.Abs(x))
		}
		switch {
		case strings.HasPrefix(col, "value"):
			c.Metrics = append(c.Metrics, d)
		case d.Equal || col == "key" || col == "manifest.start":
		case strings.HasPrefix(col, "manifest"):
			c.Context = append(c.Context, d)
		default:
			c.Params = append(c.Params, d)
		}
	}
	return c, nil
}

// Number returns the number in a cell of a [Row], if it holds one.
func Number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case string: // see codec.go
		f, ok := map[string]float64{"NaN": math.NaN(), "+Inf": math.Inf(1), "-Inf": math.Inf(-1)}[v]
		return f, ok
	}
	return 0, false
}

// FormatCell writes a cell of a [Row] as text: a float64 in the fewest digits
// that read back exactly, a list as JSON, nothing for nil.
func FormatCell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []any:
		if b, err := json.Marshal(v); err == nil {
			return string(b)
		}
	}
	return fmt.Sprint(v)
}
