package sweepfile

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"coupling/lab"

	"github.com/go-json-experiment/json"
	"go.yaml.in/yaml/v3"
)

// A value is that of a parameter, as JSON has it, with the line that set it.
type value struct {
	name   string // with dots
	v      any
	member []byte // of an object: "eps":0.1
	line   int
}

func valueOf(name *yaml.Node, v any) value {
	object := lab.Must(json.Marshal(map[string]any{name.Value: v}))
	return value{name.Value, v, object[1 : len(object)-1], name.Line}
}

func (v value) compare(w value) int { return strings.Compare(v.name, w.name) }

// values are parameters of a cell, ordered by name.
type values []value

// with returns s and more, whose values replace those of s.
func (s values) with(more values) values {
	all := slices.Concat(more, s)
	slices.SortStableFunc(all, value.compare)
	return slices.CompactFunc(all, func(v, w value) bool { return v.name == w.name })
}

// UnmarshalYAML reads parameters and their values.
func (s *values) UnmarshalYAML(n *yaml.Node) error {
	*s = nil
	for name, v := range entries(n) {
		*s = append(*s, valueOf(name, plain(v)))
	}
	slices.SortFunc(*s, value.compare)
	return nil
}

// lineOf returns the line that set a parameter, or the object that it is in; 0 if none did.
func (s values) lineOf(name string) int {
	for ; name != ""; name = name[:max(strings.LastIndexByte(name, '.'), 0)] {
		if i, ok := slices.BinarySearchFunc(s, value{name: name}, value.compare); ok {
			return s[i].line
		}
	}
	return 0
}

// object returns the values as JSON, where dotted names are of objects inside.
func (s values) object() ([]byte, error) {
	if slices.ContainsFunc(s, func(v value) bool { return strings.Contains(v.name, ".") }) {
		out := map[string]any{}
		for _, v := range s {
			if err := put(out, v.name, v.v); err != nil {
				return nil, err
			}
		}
		return json.Marshal(out)
	}
	text := make([]byte, 1, 256)
	for _, v := range s {
		text = append(append(text, ','), v.member...)
	}
	text = append(text[min(1, len(s)):], '}')
	text[0] = '{'
	return text, nil
}

// put sets the value of a dotted name in an object; objects inside are copied.
func put(at map[string]any, name string, v any) error {
	first, rest, dotted := strings.Cut(name, ".")
	if !dotted {
		at[first] = v
		return nil
	}
	inner, ok := at[first].(map[string]any)
	if !ok && at[first] != nil {
		return fmt.Errorf("%s goes into %s, which is no object", name, first)
	}
	if inner = maps.Clone(inner); inner == nil {
		inner = map[string]any{}
	}
	at[first] = inner
	return put(inner, rest, v)
}

// A factor multiplies the cells: each gets the parameters of every entry in turn.
type factor []values

// A step is a list, which is one factor, or a grid, whose parameters are a factor each.
type step []factor

// UnmarshalYAML reads a step.
func (s *step) UnmarshalYAML(n *yaml.Node) error {
	var text struct {
		Grid grid
		List []values
	}
	switch lines := fields(n, &text, "design"); {
	case len(lines) != 1:
		fail(n.Line, "design: %d kinds in one step, want grid or list", len(lines))
	case lines["grid"] > 0:
		*s = step(text.Grid)
	case len(text.List) == 0:
		fail(n.Line, "list: it is empty")
	default:
		*s = step{text.List}
	}
	return nil
}

// expand calls yield for the parameters of each cell that factors make of cell, the last varying fastest, until it
// returns false, which is then returned.
func expand(factors []factor, cell values, yield func(values) bool) bool {
	if len(factors) == 0 {
		return yield(cell)
	}
	return !slices.ContainsFunc(factors[0], func(more values) bool {
		return !expand(factors[1:], cell.with(more), yield)
	})
}

// grid is parameters with their values, in the order of the file.
type grid []factor

// UnmarshalYAML reads a mapping of parameters to lists and ranges.
func (g *grid) UnmarshalYAML(n *yaml.Node) error {
	for name, v := range entries(n) {
		var f factor
		for _, x := range axis(name.Value, v) {
			f = append(f, values{valueOf(name, x)})
		}
		*g = append(*g, f)
	}
	return nil
}

// axis returns the values of a parameter: a list, or a range.
func axis(name string, n *yaml.Node) []any {
	if n.Kind == yaml.SequenceNode {
		list, _ := plain(n).([]any)
		if len(list) == 0 {
			fail(n.Line, "%s: an empty list", name)
		}
		return list
	}
	var s scale
	fields(n, &s, name)
	if err := s.check(); err != nil {
		fail(n.Line, "%s: %w", name, err)
	}
	return s.values()
}

// scale is a range as written.
type scale struct {
	From, To *float64
	Count    int
	Scale    string
	Integer  bool
}

func (s scale) check() error {
	if s.From == nil || s.To == nil || s.Count < 1 {
		return errors.New("a range needs from, to and a count of 1 or more")
	}
	const exact = 1<<53 - 1 // integers up to here are exact in float64
	switch largest := max(math.Abs(*s.From), math.Abs(*s.To)); {
	case math.IsInf(largest, 0) || math.IsNaN(largest):
		return fmt.Errorf("from %g to %g: not finite", *s.From, *s.To)
	case s.Count > MostCells:
		return fmt.Errorf("count %d: at most %d", s.Count, MostCells)
	case s.Integer && largest > exact:
		return fmt.Errorf("from %.0f to %.0f: integers of a range are within ±(2^53 − 1)", *s.From, *s.To)
	case s.Scale != "" && s.Scale != "linear" && s.Scale != "log":
		return fmt.Errorf("scale %q: want linear or log", s.Scale)
	case s.Scale == "log" && min(*s.From, *s.To) <= 0:
		return fmt.Errorf("from %g to %g: a logarithmic range is positive", *s.From, *s.To)
	}
	return nil
}

// values returns those of the range, each once. Those between the ends are rounded to 14 digits, so
// that a decade is 0.01 and not 0.00999999999999999, which would be another cell.
func (s scale) values() (out []any) {
	from, to := *s.From, *s.To
	for i := range s.Count {
		u := float64(i) / float64(max(s.Count-1, 1))
		x := from + u*(to-from)
		if s.Scale == "log" {
			x = from * math.Pow(to/from, u)
		}
		switch {
		case i == 0: // the ends are met exactly
			x = from
		case i == s.Count-1:
			x = to
		case !s.Integer:
			x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 14, 64), 64)
		}
		v := any(x)
		if s.Integer {
			v = int64(math.Round(x))
		}
		if len(out) == 0 || out[len(out)-1] != v {
			out = append(out, v)
		}
	}
	return out
}
