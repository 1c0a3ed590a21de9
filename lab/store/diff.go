package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Difference is one column in which two records differ, or a metric of both.
type Difference struct {
	Column string `json:"column"`
	A      string `json:"a"` // empty where a side lacks the column
	B      string `json:"b"`
	Equal  bool   `json:"equal"`
	// "+0.5 (+25.0 %)", B−A and its share of |A|; empty if nothing changed or a side is not a
	// number
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
