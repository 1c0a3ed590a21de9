package sweepfile

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A value is that of a parameter, as JSON has it, with the line that set it.
type value struct {
	v    any
	line int
}

// values are parameters of a cell, by dotted name.
type values map[string]value

func (s values) with(more values) values {
	out := values{}
	maps.Copy(out, s)
	maps.Copy(out, more)
	return out
}

// UnmarshalYAML reads parameters and their values.
func (s *values) UnmarshalYAML(n *yaml.Node) error {
	content, err := entries(n)
	*s = values{}
	for i := 0; i+1 < len(content) && err == nil; i += 2 {
		v := value{line: content[i].Line}
		v.v, err = plain(content[i+1])
		(*s)[content[i].Value] = v
	}
	return err
}

// lineOf returns the line that set a parameter, or the object that it is in; 0 if none did.
func (s values) lineOf(name string) int {
	for name != "" && s[name].line == 0 {
		name = name[:max(strings.LastIndexByte(name, '.'), 0)]
	}
	return s[name].line
}

// nested turns dotted names into objects.
func (s values) nested() (map[string]any, error) {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if err := put(out, name, s[name].v); err != nil {
			return nil, err
		}
	}
	return out, nil
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

// A factor multiplies the cells: each becomes n, to which at gives more parameters.
type factor struct {
	n  int
	at func(i int) values
}

// A step is a list, which is one factor, or a grid, whose parameters are a factor each.
type step []factor

// UnmarshalYAML reads a step.
func (s *step) UnmarshalYAML(n *yaml.Node) error {
	var text struct {
		Grid grid
		List []values
	}
	lines, err := fields(n, &text, "design")
	switch {
	case err != nil:
		return err
	case len(lines) != 1:
		return errorf(n.Line, "design: %d kinds in one step, want grid or list", len(lines))
	case lines["list"] > 0 && len(text.List) == 0:
		return errorf(n.Line, "list: it is empty")
	case lines["list"] > 0:
		*s = step{{len(text.List), func(i int) values { return text.List[i] }}}
	default:
		*s = step(text.Grid)
	}
	return nil
}

// expand calls yield for the parameters of each cell that factors make of cell, the last varying fastest.
func expand(factors []factor, cell values, yield func(values) error) error {
	if len(factors) == 0 {
		return yield(cell)
	}
	for i := range factors[0].n {
		if err := expand(factors[1:], cell.with(factors[0].at(i)), yield); err != nil {
			return err
		}
	}
	return nil
}

// grid is parameters with their values, in the order of the file.
type grid []factor

// UnmarshalYAML reads a mapping of parameters to lists and ranges.
func (g *grid) UnmarshalYAML(n *yaml.Node) error {
	content, err := entries(n)
	for i := 0; i+1 < len(content) && err == nil; i += 2 {
		name, line := content[i].Value, content[i].Line
		var all []any
		all, err = axis(name, content[i+1])
		*g = append(*g, factor{len(all), func(i int) values { return values{name: {all[i], line}} }})
	}
	return err
}

// axis returns the values of a parameter: a list, or a range.
func axis(name string, n *yaml.Node) ([]any, error) {
	if n.Kind == yaml.SequenceNode {
		v, err := plain(n)
		list, _ := v.([]any)
		if err == nil && len(list) == 0 {
			err = errorf(n.Line, "%s: an empty list", name)
		}
		return list, err
	}
	var s scale
	if _, err := fields(n, &s, name); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, errorf(n.Line, "%s: %w", name, err)
	}
	return s.values(), nil
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
// that the decades of a logarithmic grid are 0.01 and not 0.00999999999999999, which would be
// another cell.
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
