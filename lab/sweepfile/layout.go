package sweepfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// cells expands the design.
func (p *reader) cells() ([]values, error) {
	type place struct {
		name string
		line int
	}
	drawn := map[place]bool{} // by earlier steps
	defaults := map[string]any{}
	cells := []values{p.Params}
	for _, s := range p.Design {
		if err := p.checkWhen(s, cells, defaults); err != nil {
			return nil, err
		}
		if s.grows(cells, defaults) > MostCells/p.Replicates {
			return nil, p.root.errorf("more than %d cells", MostCells)
		}
		for _, a := range s.drawn {
			for _, c := range cells {
				if line := c.line[a.name]; drawn[place{a.name, line}] && s.matches(c, defaults) {
					return nil, &Error{p.root.file, a.line, fmt.Errorf("%s: line %d has drawn it already", a.name, line)}
				}
			}
		}
		for _, a := range s.drawn {
			drawn[place{a.name, a.line}] = true
		}
		cells = s.apply(cells, defaults)
	}
	return cells, nil
}

// checkWhen refuses a condition on a parameter that neither a cell nor the experiment has, and adds
// the experiment's defaults where cells lack the parameter.
func (p *reader) checkWhen(s step, cells []values, defaults map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(s.when.v)) {
		held := func(c values) bool { _, ok := c.get(name); return ok }
		without := slices.IndexFunc(cells, func(c values) bool { return !held(c) })
		if without < 0 {
			continue
		}
		v, err := p.standard(name, s.allowed(name), s.when.line[name])
		if err != nil && !slices.ContainsFunc(cells, held) {
			return err
		}
		if err == nil {
			defaults[name] = v
		}
	}
	return nil
}

// standard returns the value of a parameter that is not given, and an error if
// the experiment has no such parameter or it cannot be one of wanted.
func (p *reader) standard(name string, wanted []any, line int) (any, error) {
	for _, want := range wanted {
		if _, err := p.job(p.Seed, p.Params.with(name, want, line)); err != nil {
			return nil, err
		}
	}
	j, err := p.job(p.Seed, p.Params)
	if err != nil {
		return nil, err
	}
	var params map[string]any
	if err := json.Unmarshal(j.Record().Params, &params); err != nil {
		return nil, p.root.errorf("params: %w", err)
	}
	if v, ok := inside(params, name); ok {
		return v, nil
	}
	for _, want := range wanted { // a parameter that is omitted if zero
		if want == "" || want == false || same(want, int64(0)) {
			return want, nil
		}
	}
	return nil, nil
}
