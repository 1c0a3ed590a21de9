package sweepfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/samplemv"
)

// A value is that of a parameter, as JSON has it, with the line that set it.
type value struct {
	v     any
	line  int
	drawn bool // by a sampling step
}

// values are the parameters of a cell while a design is expanded, by dotted name.
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

// get returns the value at a dotted path: names in objects, and from 0 the places in lists. It is nil if there is none.
func get(v any, path string) any {
	for part := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[part]
		case []any:
			i, err := strconv.ParseUint(part, 10, 0)
			if v = nil; err == nil && i < uint64(len(in)) {
				v = in[i]
			}
		default:
			return nil
		}
	}
	return v
}

// A step turns one set of parameters into several.
type step struct {
	when values     // nothing: always
	list []values   // sets of parameters, or
	axes axes       // a grid of them, or
	at   *mat.Dense // points drawn over them, which cells of earlier steps share
}

// UnmarshalYAML reads a step, which has exactly one kind.
func (s *step) UnmarshalYAML(n *yaml.Node) error {
	var text struct {
		When                  values
		Grid                  axes
		List                  []values
		Halton, Latin, Random *draw
	}
	lines, err := fields(n, &text, "design")
	if err != nil {
		return err
	}
	var kinds []string
	for _, kind := range []string{"grid", "list", "halton", "latin", "random"} {
		if lines[kind] > 0 {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) != 1 {
		return errorf(n.Line, "design: %d kinds in one step, want one of grid, list, halton, latin, random", len(kinds))
	}
	s.when, s.list, s.axes = text.When, text.List, text.Grid
	switch kind, line := kinds[0], lines[kinds[0]]; kind {
	case "grid":
		return s.axes.checkGrid(line)
	case "list":
		if len(s.list) == 0 {
			return errorf(line, "list: it is empty")
		}
		return nil
	default:
		d := map[string]*draw{"halton": text.Halton, "latin": text.Latin, "random": text.Random}[kind]
		if err := d.check(kind, line); err != nil {
			return err
		}
		s.axes, s.at = d.Over, points(kind, d.Count, len(d.Over), d.Seed)
		return nil
	}
}

// expand calls yield for the parameters of each cell that steps make of cell. They are valid during the call.
func (d *document) expand(steps []step, cell values, yield func(values) error) error {
	if len(steps) == 0 {
		return yield(cell)
	}
	matches, err := d.matches(steps[0].when, cell)
	next := func(cell values) error { return d.expand(steps[1:], cell, yield) }
	switch {
	case err != nil:
		return err
	case !matches:
		return next(cell)
	}
	return steps[0].expand(cell, next)
}

// checkConditions refuses conditions on parameters that the experiment does not have.
func (d *document) checkConditions() error {
	for _, s := range d.Design {
		for _, name := range slices.Sorted(maps.Keys(s.when)) {
			w := s.when[name]
			for _, want := range w.list() {
				cell := d.Params.with(values{name: {v: want, line: w.line}})
				if j, err := d.job(d.Seed, cell); !j.HasKey() {
					return err
				}
			}
		}
	}
	return nil
}

// matches compares a condition with the parameters of a cell, the experiment's defaults included.
func (d *document) matches(when, cell values) (bool, error) {
	if len(when) == 0 {
		return true, nil
	}
	j, err := d.job(d.Seed, cell)
	if !j.HasKey() {
		return false, err
	}
	var params any
	if err := json.Unmarshal(j.Record().Params, &params); err != nil {
		return false, err
	}
	for name, w := range when {
		have := get(params, name)
		if !slices.ContainsFunc(w.list(), func(want any) bool { return same(have, want) }) {
			return false, nil
		}
	}
	return true, nil
}

// list is the values that a condition on a parameter names: {solver: newton, n: [1, 2]}.
func (w value) list() []any {
	if l, ok := w.v.([]any); ok {
		return l
	}
	return []any{w.v}
}

// same compares scalars as JSON, where 1 and 1.0 are the same number. A parameter that is left out is zero.
func same(have, want any) bool {
	a, _ := json.Marshal(have)
	b, _ := json.Marshal(want)
	return string(a) == string(b) || have == nil && slices.Contains([]string{"0", `""`, "false"}, string(b))
}

func (s step) expand(cell values, yield func(values) error) error {
	for _, set := range s.list {
		if err := yield(cell.with(set)); err != nil {
			return err
		}
	}
	if s.list != nil {
		return nil
	}
	if s.at == nil {
		return s.axes.expand(cell, yield)
	}
	for _, a := range s.axes {
		if cell[a.name].drawn {
			return errorf(a.line, "%s: line %d has drawn it already", a.name, cell[a.name].line)
		}
	}
	cell = cell.with(nil)
	for i := range s.at.RawMatrix().Rows {
		for k, a := range s.axes {
			cell[a.name] = value{a.sample(s.at.At(i, k)), a.line, true}
		}
		if err := yield(cell); err != nil {
			return err
		}
	}
	return nil
}

// expand calls yield for each point of a grid.
func (as axes) expand(cell values, yield func(values) error) error {
	if len(as) == 0 {
		return yield(cell)
	}
	cell = cell.with(nil)
	for _, x := range as[0].list {
		cell[as[0].name] = value{v: x, line: as[0].line}
		if err := as[1:].expand(cell, yield); err != nil {
			return err
		}
	}
	return nil
}

// maxDimensions is the largest dimension of a Halton sequence.
const maxDimensions = 1000

// draw is a sampling step as written.
type draw struct {
	Count int `min:"1"`
	Seed  uint64
	Over  axes
}

// UnmarshalYAML reads a mapping.
func (d *draw) UnmarshalYAML(n *yaml.Node) error {
	d.Seed = 1
	_, err := fields(n, d, "draw")
	return err
}

func (d *draw) check(kind string, line int) error {
	switch {
	case d == nil || d.Count == 0 || len(d.Over) == 0:
		return errorf(line, "%s: want a count and over", kind)
	case d.Count > MostCells:
		return errorf(line, "%s: count %d: at most %d", kind, d.Count, MostCells)
	case len(d.Over) > maxDimensions:
		return errorf(line, "%s: %d dimensions: at most %d", kind, len(d.Over), maxDimensions)
	}
	for _, a := range d.Over {
		if a.Count > 0 {
			return errorf(a.line, "%s.count: a range has a count in a grid only", a.name)
		}
	}
	return nil
}

// points draws n points of [0,1)^dim, a row each: of Owen's randomised Halton sequence
// (arXiv:1706.02808), of a Latin hypercube, or independent ones.
func points(kind string, n, dim int, seed uint64) *mat.Dense {
	src := rand.NewPCG(seed, 0x73776565702d7631)
	cube := distmv.NewUnitUniform(dim, src)
	var s samplemv.Sampler = samplemv.IID{Dist: cube}
	switch kind {
	case "halton":
		s = samplemv.Halton{Kind: samplemv.Owen, Q: cube, Src: src}
	case "latin":
		s = samplemv.LatinHypercube{Q: cube, Src: src}
	}
	out := mat.NewDense(n, dim, nil)
	s.Sample(out)
	return out
}

// An axis is one parameter and its values.
type axis struct {
	name string
	line int
	list []any // or
	scale
}

// scale is a range as written.
type scale struct {
	From, To *float64
	Scale    string
	Count    int `min:"1"`
	Integer  bool
}

// axes are parameters with their values, in the order of the file.
type axes []axis

// UnmarshalYAML reads a mapping of parameters to lists and ranges.
func (as *axes) UnmarshalYAML(n *yaml.Node) error {
	content, err := entries(n)
	for i := 0; i+1 < len(content) && err == nil; i += 2 {
		a := axis{name: content[i].Value, line: content[i].Line}
		err = a.read(content[i+1])
		*as = append(*as, a)
	}
	return err
}

// checkGrid lists the values of a grid, and refuses one that is too large.
func (as axes) checkGrid(line int) error {
	size := 1
	for i, a := range as {
		if a.list == nil && a.Count == 0 {
			return errorf(a.line, "%s: a range in a grid needs a count", a.name)
		}
		as[i].list = a.all()
		if size *= len(as[i].list); size > MostCells {
			return errorf(a.line, "grid: more than %d cells", MostCells)
		}
	}
	return nil
}

// read reads a list of values or a range.
func (a *axis) read(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode {
		v, err := plain(n)
		if a.list, _ = v.([]any); err == nil && len(a.list) == 0 {
			err = errorf(a.line, "%s: an empty list", a.name)
		}
		return err
	}
	if _, err := fields(n, &a.scale, a.name); err != nil {
		return err
	}
	if a.From == nil || a.To == nil {
		return errorf(a.line, "%s: a range needs from and to", a.name)
	}
	const exact = 1<<53 - 1 // integers up to here are exact in float64
	switch largest := max(math.Abs(*a.From), math.Abs(*a.To)); {
	case math.IsInf(largest, 0) || math.IsNaN(largest):
		return errorf(a.line, "%s: from %g to %g: not finite", a.name, *a.From, *a.To)
	case a.Count > MostCells:
		return errorf(a.line, "%s: count %d: at most %d", a.name, a.Count, MostCells)
	case a.Integer && largest > exact:
		return errorf(a.line, "%s: from %.0f to %.0f: integers of a range are within ±(2^53 − 1)", a.name,
			*a.From, *a.To)
	case a.Scale != "" && a.Scale != "linear" && a.Scale != "log":
		return errorf(a.line, "%s: scale %q: want linear or log", a.name, a.Scale)
	case a.Scale == "log" && min(*a.From, *a.To) <= 0:
		return errorf(a.line, "%s: from %g to %g: a logarithmic range is positive", a.name, *a.From, *a.To)
	}
	return nil
}

// value returns that at u in [0,1] of a range.
func (s scale) value(u float64) any {
	from, to := *s.From, *s.To
	x := from + u*(to-from)
	if s.Scale == "log" {
		x = from * math.Pow(to/from, u)
	}
	switch { // the ends are met exactly
	case u == 0:
		x = from
	case u == 1:
		x = to
	}
	if s.Integer {
		return int64(math.Round(x))
	}
	return x
}

// sample returns the entry of the list, or the value of the range, at a random u in [0,1). Integers
// are equally likely, the ends included.
func (a axis) sample(u float64) any {
	if a.list != nil {
		return a.list[min(int(u*float64(len(a.list))), len(a.list)-1)]
	}
	if a.Integer && a.Scale != "log" {
		low, high := math.Round(min(*a.From, *a.To)), math.Round(max(*a.From, *a.To))
		return int64(min(low+math.Floor(u*(high-low+1)), high))
	}
	return a.value(u)
}

// all returns the values of a grid's axis, each once. Those between the ends are rounded to 14
// digits, so that the decades of a logarithmic grid are 0.01 and not 0.00999999999999999, which
// would be another cell.
func (a axis) all() []any {
	if a.list != nil {
		return a.list
	}
	var out []any
	for i := range a.Count {
		u := float64(i) / float64(max(a.Count-1, 1))
		v := a.value(u)
		if x, ok := v.(float64); ok && u > 0 && u < 1 {
			// not beyond the largest number
			if r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 14, 64), 64); err == nil {
				v = r
			}
		}
		if len(out) == 0 || out[len(out)-1] != v {
			out = append(out, v)
		}
	}
	return out
}
