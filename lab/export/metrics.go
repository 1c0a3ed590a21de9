package export

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"coupling/lab"
)

// A metric is a number of a result, or a list of numbers, one a step.
type metric struct {
	name   string
	series []float64
}

// split returns the numbers in a result, lists of them as series, and the
// parameters, the seed among them: float64, bool or string. What is no number in a
// result is left out.
func split(r lab.Record) (out []metric, params map[string]any, err error) {
	row, err := r.Flatten()
	params = map[string]any{"seed": fmt.Sprint(r.Seed)}
	for _, column := range slices.Sorted(maps.Keys(row)) {
		v := row[column]
		if name, ok := strings.CutPrefix(column, "param."); ok {
			if x, isNumber := lab.Number(v); isNumber {
				v = x
			}
			params[name] = v
		}
		name, ok := strings.CutPrefix(column, "value")
		if holds, isBool := v.(bool); isBool {
			v = map[bool]float64{true: 1}[holds]
		}
		if series := lab.Numbers(v); ok && len(series) > 0 {
			out = append(out, metric{cmp.Or(strings.TrimPrefix(name, "."), "value"), series})
		}
	}
	return out, params, err
}
