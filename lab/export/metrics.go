package export

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"coupling/lab"
)

// A metric is a number of a result, or a list of numbers, one a step.
type metric struct {
	name   string
	series []float64
}

// metrics returns the numbers in a result, by name: lists of numbers are series,
// members of objects have dots in their names, and what is no number is left out.
func metrics(r lab.Record) ([]metric, error) {
	if len(r.Value) == 0 {
		return nil, nil
	}
	var v any
	if err := json.Unmarshal(r.Value, &v); err != nil {
		return nil, fmt.Errorf("export: result of %s: %w", r.Key, err)
	}
	var out []metric
	collect(&out, "", v)
	return out, nil
}

func collect(out *[]metric, name string, v any) {
	if object, ok := v.(map[string]any); ok {
		for _, k := range slices.Sorted(maps.Keys(object)) {
			collect(out, strings.TrimPrefix(name+"."+k, "."), object[k])
		}
		return
	}
	if name == "" {
		name = "value"
	}
	if x, ok := number(v); ok {
		*out = append(*out, metric{name, []float64{x}})
		return
	}
	list, _ := v.([]any)
	m := metric{name: name}
	for _, e := range list {
		x, ok := number(e)
		if !ok {
			return
		}
		m.series = append(m.series, x)
	}
	if len(m.series) > 0 {
		*out = append(*out, m)
	}
}

// number reads a number as the store writes it, NaN and the infinities included.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case string:
		x, ok := map[string]float64{"NaN": math.NaN(), "+Inf": math.Inf(1), "-Inf": math.Inf(-1)}[v]
		return x, ok
	}
	return 0, false
}

// parameters returns the parameters of a cell by dotted name, the seed among
// them: float64, bool or string.
func parameters(r lab.Record) (map[string]any, error) {
	row, err := r.Flatten()
	if err != nil {
		return nil, err
	}
	out := map[string]any{"seed": fmt.Sprint(r.Seed)}
	for name, v := range row {
		name, ok := strings.CutPrefix(name, "param.")
		if !ok {
			continue
		}
		if x, isNumber := lab.Number(v); isNumber {
			v = x
		}
		out[name] = v
	}
	return out, nil
}
