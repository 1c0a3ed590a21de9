package sweepfile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// values are the parameters of a cell while a design is expanded: JSON values by dotted name, with
// the lines that set them.
type values struct {
	v    map[string]any
	line map[string]int
}

func (s values) with(name string, v any, line int) values {
	out := values{map[string]any{}, map[string]int{}}
	maps.Copy(out.v, s.v)
	maps.Copy(out.line, s.line)
	out.v[name], out.line[name] = v, line
	return out
}

// decode reads parameters and their values.
func (s *values) decode(n node, what string) error {
	ms, err := n.members(what)
	*s = values{map[string]any{}, map[string]int{}}
	for _, m := range ms {
		if s.v[m.name], err = m.value.value(what + "." + m.name); err != nil {
			return err
		}
		s.line[m.name] = m.key.line()
	}
	return err
}

// lineOf returns the line that set a parameter, or the object that it is in.
func (s values) lineOf(name string, otherwise int) int {
	for name != "" {
		if l, ok := s.line[name]; ok {
			return l
		}
		name = name[:max(strings.LastIndexByte(name, '.'), 0)]
	}
	return otherwise
}

// get returns the value of a dotted name, which may be inside an object that was
// set as a whole.
func (s values) get(name string) (any, bool) {
	if v, ok := s.v[name]; ok {
		return v, true
	}
	for i := len(name) - 1; i > 0; i-- {
		if outer, ok := s.v[name[:i]]; ok && name[i] == '.' {
			return inside(outer, name[i+1:])
		}
	}
	return nil, false
}

// inside returns the value at a dotted name in an object.
func inside(v any, name string) (any, bool) {
	for part := range strings.SplitSeq(name, ".") {
		m, _ := v.(map[string]any)
		next, ok := m[part]
		if !ok {
			return nil, false
		}
		v = next
	}
	return v, true
}

// nested turns dotted names into objects.
func (s values) nested() (map[string]any, error) {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.v)) {
		at, path := out, strings.Split(name, ".")
		for _, part := range path[:len(path)-1] {
			next, ok := at[part].(map[string]any)
			if !ok && at[part] != nil {
				return nil, fmt.Errorf("%s goes into %s, which is no object", name, part)
			}
			if next = maps.Clone(next); next == nil {
				next = map[string]any{}
			}
			at[part], at = next, next
		}
		at[path[len(path)-1]] = s.v[name]
	}
	return out, nil
}

// A step turns one set of parameters into several.
type step struct {
	when   values // nothing: always
	drawn  []axis // the parameters that it samples
	size   int    // the number of samples
	expand func(values) []values
}

// grows returns how many cells apply would make of in.
func (s step) grows(in []values, defaults map[string]any) (n int) {
	for _, v := range in {
		if s.matches(v, defaults) {
			n += s.size // at most MostCells², which fits
		} else {
			n++
		}
		if n > MostCells {
			break
		}
	}
	return n
}

func (s step) apply(in []values, defaults map[string]any) []values {
	var out []values
	for _, v := range in {
		if s.matches(v, defaults) {
			out = append(out, s.expand(v)...)
		} else {
			out = append(out, v)
		}
	}
	return out
}

func (s step) matches(v values, defaults map[string]any) bool {
	for name := range s.when.v {
		have, ok := v.get(name)
		if !ok {
			have = defaults[name]
		}
		if !slices.ContainsFunc(s.allowed(name), func(want any) bool { return same(have, want) }) {
			return false
		}
	}
	return true
}

// allowed are the values that the condition on a parameter names: {solver: newton, n: [1, 2]}.
func (s step) allowed(name string) []any {
	if l, ok := s.when.v[name].([]any); ok {
		return l
	}
	return []any{s.when.v[name]}
}

// decode reads a step, which has exactly one kind.
func (s *step) decode(n node, what string) error {
	var text struct {
		When                  values
		Grid                  axes
		List                  []values
		Halton, Latin, Random *draw
	}
	if err := n.read(&text, what); err != nil {
		return err
	}
	s.when = text.When
	kinds := 0
	var err error
	for _, kind := range []string{"grid", "list", "halton", "latin", "random"} {
		at := n.at(kind)
		if at.Node == n.Node {
			continue
		}
		switch kinds++; kind {
		case "grid":
			s.expand = grid(text.Grid)
			s.size, err = text.Grid.cells(at)
		case "list":
			if s.size, s.expand = len(text.List), list(text.List); s.size == 0 {
				err = at.errorf("list: it is empty")
			}
		default:
			err = s.sample(at, kind, map[string]*draw{"halton": text.Halton, "latin": text.Latin, "random": text.Random}[kind])
		}
		if err != nil {
			return err
		}
	}
	if kinds != 1 {
		return n.errorf("design: %d kinds in one step, want one of grid, list, halton, latin, random", kinds)
	}
	return nil
}

// maxDimensions is the largest dimension of a Halton sequence.
const maxDimensions = 1000

// draw is a sampling step as written.
type draw struct {
	Count int `min:"1"`
	Seed  *uint64
	Over  axes
}

// sample expands a sampling step. The points are drawn once, so that cells of earlier steps share
// them.
func (s *step) sample(n node, kind string, d *draw) error {
	switch {
	case d.Count == 0 || len(d.Over) == 0:
		return n.errorf("%s: want a count and over", kind)
	case d.Count > MostCells:
		return n.errorf("%s: count %d: at most %d", kind, d.Count, MostCells)
	case len(d.Over) > maxDimensions:
		return n.errorf("%s: %d dimensions: at most %d", kind, len(d.Over), maxDimensions)
	}
	for _, a := range d.Over {
		if a.count > 0 {
			return n.errorf("%s.count: a range has a count in a grid only", a.name)
		}
	}
	seed := uint64(1)
	if d.Seed != nil {
		seed = *d.Seed
	}
	s.size, s.drawn, s.expand = d.Count, d.Over, sample(points(kind, d.Count, len(d.Over), seed), d.Over)
	return nil
}

// same compares scalars; 1 and 1.0 are the same number.
func same(a, b any) bool {
	x, okx := asReal(a)
	y, oky := asReal(b)
	if okx && oky {
		return x == y
	}
	return fmt.Sprintf("%T %v", a, a) == fmt.Sprintf("%T %v", b, b)
}

func asReal(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	}
	return 0, false
}

// An axis is one parameter and its values.
type axis struct {
	name     string
	line     int
	list     []any // or a range:
	from, to float64
	count    int
	log      bool
	integer  bool
}

// axes are parameters with their values, in the order of the file.
type axes []axis

func (as *axes) decode(n node, what string) error {
	ms, err := n.members(what)
	for _, m := range ms {
		a := axis{name: m.name, line: m.key.line()}
		if err := a.read(m.value); err != nil {
			return err
		}
		*as = append(*as, a)
	}
	return err
}

// cells counts those of a grid.
func (as axes) cells(n node) (size int, err error) {
	size = 1
	for _, a := range as {
		if a.list == nil && a.count == 0 {
			return 0, n.at(a.name).errorf("%s: a range in a grid needs a count", a.name)
		}
		if size *= len(a.all()); size > MostCells {
			return 0, n.at(a.name).errorf("grid: more than %d cells", MostCells)
		}
	}
	return size, nil
}

// read reads a list of values or a range.
func (a *axis) read(n node) error {
	if n.kind() == aList {
		v, err := n.value(a.name)
		if a.list, _ = v.([]any); err == nil && len(a.list) == 0 {
			err = n.errorf("%s: an empty list", a.name)
		}
		return err
	}
	r := struct {
		From, To *float64
		Scale    string
		Count    int `min:"1"`
		Integer  bool
	}{Scale: "linear"}
	if err := n.read(&r, a.name); err != nil {
		return err
	}
	const exact = 1<<53 - 1 // integers up to here are exact in float64
	switch {
	case r.From == nil || r.To == nil:
		return n.errorf("%s: a range needs from and to", a.name)
	case r.Count > MostCells:
		return n.errorf("%s: count %d: at most %d", a.name, r.Count, MostCells)
	case r.Integer && max(math.Abs(*r.From), math.Abs(*r.To)) > exact:
		return n.errorf("%s: from %.0f to %.0f: integers of a range are within ±(2^53 − 1)", a.name, *r.From, *r.To)
	case r.Scale != "linear" && r.Scale != "log":
		return n.errorf("%s: scale %q: want linear or log", a.name, r.Scale)
	case r.Scale == "log" && (*r.From <= 0 || *r.To <= 0):
		return n.errorf("%s: from %g to %g: a logarithmic range is positive", a.name, *r.From, *r.To)
	}
	a.from, a.to, a.count, a.log, a.integer = *r.From, *r.To, r.Count, r.Scale == "log", r.Integer
	return nil
}

// at returns the value at u in [0,1] of a range, or the entry of the list at u in [0,1).
func (a axis) at(u float64) any {
	if a.list != nil {
		return a.list[min(int(u*float64(len(a.list))), len(a.list)-1)]
	}
	x := a.from + u*(a.to-a.from)
	if a.log {
		x = a.from * math.Pow(a.to/a.from, u)
	}
	switch { // the ends are met exactly
	case u == 0:
		x = a.from
	case u == 1:
		x = a.to
	}
	if a.integer {
		return int64(math.Round(x))
	}
	return x
}

// integers at a random u are equally likely, the ends included.
func (a axis) sample(u float64) any {
	if a.integer && !a.log {
		low, high := math.Round(min(a.from, a.to)), math.Round(max(a.from, a.to))
		return int64(min(low+math.Floor(u*(high-low+1)), high))
	}
	return a.at(u)
}

// all returns the values of a grid's axis, each once.
func (a axis) all() []any {
	if a.list != nil {
		return a.list
	}
	var out []any
	for i := range a.count {
		u := 0.0
		if a.count > 1 {
			u = float64(i) / float64(a.count-1)
		}
		v := a.at(u)
		if x, ok := v.(float64); ok && u > 0 && u < 1 {
			v = rounded(x)
		}
		if len(out) == 0 || !same(out[len(out)-1], v) {
			out = append(out, v)
		}
	}
	return out
}

// rounded returns x to 14 digits, so that the decades of a logarithmic grid are 0.01 and not
// 0.00999999999999999, which would be another cell.
func rounded(x float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 14, 64), 64)
	if err != nil { // beyond the largest number
		return x
	}
	return r
}

func grid(axes []axis) func(values) []values {
	return func(v values) []values {
		out := []values{v}
		for _, a := range axes {
			var next []values
			for _, s := range out {
				for _, x := range a.all() {
					next = append(next, s.with(a.name, x, a.line))
				}
			}
			out = next
		}
		return out
	}
}

func list(sets []values) func(values) []values {
	return func(v values) []values {
		var out []values
		for _, set := range sets {
			s := v
			for name, x := range set.v {
				s = s.with(name, x, set.line[name])
			}
			out = append(out, s)
		}
		return out
	}
}

// sample lays points over the axes.
func sample(points *mat.Dense, axes []axis) func(values) []values {
	return func(v values) []values {
		out := make([]values, points.RawMatrix().Rows)
		for i := range out {
			out[i] = v
			for d, a := range axes {
				out[i] = out[i].with(a.name, a.sample(points.At(i, d)), a.line)
			}
		}
		return out
	}
}
