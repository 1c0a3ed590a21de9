package sweepfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"coupling/lab"
)

// A Sweep is what a file asks for.
type Sweep struct {
	Experiment string
	Seeds      []uint64
	// Jobs are the cells, the seeds of one set of parameters beside each other.
	// Cells that two steps arrive at are there once.
	Jobs []lab.Job
	// Halving is nil unless the file asks for early stopping; Jobs are then those
	// of the smallest budget.
	Halving *Halving
}

// MostCells is the largest design that is laid out.
const MostCells = 1_000_000

// Read reads a YAML file; see [Parse].
func Read(path string, ds []lab.Decoder) (*Sweep, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	return Parse(path, b, ds)
}

// Parse reads a sweep for one of the experiments of ds. Errors in the file are
// of type [*Error] and have a line.
func Parse(file string, b []byte, ds []lab.Decoder) (*Sweep, error) {
	root, err := parse(file, b)
	if err != nil {
		return nil, err
	}
	p := reader{root: root, base: values{map[string]any{}, map[string]int{}}, seed: 1, replicates: 1}
	err = root.fields("sweep", map[string]func(node) error{
		"experiment": func(n node) error { p.at = n; return text(&p.experiment, "experiment")(n) },
		"seed":       func(n node) error { p.seeds = n; return whole(&p.seed, "seed", 0)(n) },
		"replicates": func(n node) error { p.times = n; return whole(&p.replicates, "replicates", 1)(n) },
		"params":     func(n node) (err error) { p.base, err = set(n, "params"); return err },
		"design":     p.design,
		"halving":    p.halve,
	})
	if err != nil {
		return nil, err
	}
	return p.sweep(ds)
}

type reader struct {
	root, at   node // the whole; the experiment's name
	seeds      node // seed
	times      node // replicates
	experiment string
	seed       uint64
	replicates int
	base       values
	steps      []step
	halving    *Halving
	budget     int // line of halving
}

func (p *reader) sweep(ds []lab.Decoder) (*Sweep, error) {
	if p.experiment == "" {
		return nil, p.root.errorf("no experiment: coupling experiments lists them")
	}
	i := slices.IndexFunc(ds, func(d lab.Decoder) bool { return d.Experiment == p.experiment })
	if i < 0 {
		return nil, p.at.errorf("experiment %q: there is none; %s", p.experiment, lab.DidYouMean(p.experiment, names(ds)))
	}
	d := ds[i]
	if err := p.checkSeeds(); err != nil {
		return nil, err
	}
	cells, err := p.cells(d)
	if err != nil {
		return nil, err
	}
	out := &Sweep{Experiment: p.experiment, Halving: p.halving}
	for i := range p.replicates {
		out.Seeds = append(out.Seeds, p.seed+uint64(i))
	}
	seen := map[lab.Key]bool{}
	for _, c := range cells {
		if p.halving != nil {
			c = c.with(p.halving.Budget, int64(p.halving.Min), p.budget)
		}
		for _, seed := range out.Seeds {
			j, err := p.job(d, seed, c)
			if err != nil {
				return nil, err
			}
			if key := j.Record().Key; !seen[key] {
				seen[key] = true
				out.Jobs = append(out.Jobs, j)
			}
		}
	}
	if p.halving != nil {
		p.halving.at = func(j lab.Job, budget int) (lab.Job, error) { return rebudget(d, j, p.halving.Budget, budget) }
	}
	return out, nil
}

func (p *reader) checkSeeds() error {
	switch {
	case p.replicates > MostCells:
		return p.times.errorf("replicates %d: at most %d", p.replicates, MostCells)
	case p.replicates > 1 && p.halving != nil:
		return p.times.errorf("replicates %d: halving judges single cells, and would promote lucky seeds: want 1", p.replicates)
	case p.seed > math.MaxUint64-uint64(p.replicates-1):
		return p.seeds.errorf("seed %d: %d replicates go beyond 2^64", p.seed, p.replicates)
	}
	return nil
}

func names(ds []lab.Decoder) (out []string) {
	for _, d := range ds {
		out = append(out, d.Experiment)
	}
	return out
}

// job makes a cell; what the experiment says against its parameters gets the
// line that set them.
func (p *reader) job(d lab.Decoder, seed uint64, c values) (lab.Job, error) {
	params, err := c.nested()
	if err != nil {
		return lab.Job{}, p.root.errorf("%w", err)
	}
	b, err := json.Marshal(params)
	if err != nil {
		return lab.Job{}, p.root.errorf("params: %w", err)
	}
	j, err := d.Make(seed, b)
	var unknown *lab.UnknownParamError
	if errors.As(err, &unknown) {
		name := strings.ReplaceAll(strings.TrimPrefix(unknown.Path, "/"), "/", ".")
		return lab.Job{}, &Error{p.root.file, c.lineOf(name, p.root.line()), err}
	}
	name := pointed(err)
	if refused := (*lab.ParamError)(nil); errors.As(err, &refused) {
		name = refused.Param
	}
	if err != nil {
		return lab.Job{}, &Error{p.root.file, c.lineOf(name, p.root.line()), err}
	}
	return j, nil
}

// pointed returns the parameter that an error of the JSON decoder is about.
func pointed(err error) string {
	if err == nil {
		return ""
	}
	_, rest, ok := strings.Cut(err.Error(), `within "/`)
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, `"`)
	return strings.ReplaceAll(name, "/", ".")
}

// lineOf returns the line that set a parameter, or the object that it is in.
func (s values) lineOf(name string, otherwise int) int {
	for name != "" {
		if l, ok := s.line[name]; ok {
			return l
		}
		i := strings.LastIndexByte(name, '.')
		name = name[:max(i, 0)]
	}
	return otherwise
}

// set reads parameters and their values.
func set(n node, what string) (values, error) {
	ms, err := n.members(what)
	out := values{map[string]any{}, map[string]int{}}
	for _, m := range ms {
		v, err := m.value.value(what + "." + m.name)
		if err != nil {
			return out, err
		}
		out.v[m.name], out.line[m.name] = v, m.key.line()
	}
	return out, err
}

func (p *reader) design(n node) error {
	steps, err := n.items("design")
	for _, n := range steps {
		s, err := readStep(n)
		if err != nil {
			return err
		}
		p.steps = append(p.steps, s)
	}
	return err
}

func readStep(n node) (step, error) {
	var s step
	kinds := 0
	as := func(read func(node) (step, error)) func(node) error {
		return func(n node) error {
			kinds++
			made, err := read(n)
			s.size, s.expand, s.drawn = made.size, made.expand, made.drawn
			return err
		}
	}
	err := n.fields("design", map[string]func(node) error{
		"when":   func(n node) (err error) { s.when, s.lines, err = condition(n); return err },
		"grid":   as(readGrid),
		"list":   as(readList),
		"sobol":  as(sampler("sobol", func(n, dim int, r *rand.Rand) [][]float64 { return Sobol(n, dim, r) })),
		"latin":  as(sampler("latin", Latin)),
		"random": as(sampler("random", Random)),
	})
	if err == nil && kinds != 1 {
		err = n.errorf("design: %d kinds in one step, want one of grid, list, sobol, latin, random", kinds)
	}
	return s, err
}

// condition reads {solver: newton, n: [1, 2]}.
func condition(n node) (map[string][]any, map[string]int, error) {
	set, err := set(n, "when")
	if err != nil {
		return nil, nil, err
	}
	out := map[string][]any{}
	for name, v := range set.v {
		l, ok := v.([]any)
		if !ok {
			l = []any{v}
		}
		out[name] = l
	}
	return out, set.line, nil
}

func readList(n node) (step, error) {
	items, err := n.items("list")
	var sets []values
	for _, item := range items {
		s, err := set(item, "list")
		if err != nil {
			return step{}, err
		}
		sets = append(sets, s)
	}
	if err == nil && len(sets) == 0 {
		err = n.errorf("list: it is empty")
	}
	return step{size: len(sets), expand: list(sets)}, err
}

func readGrid(n node) (step, error) {
	ms, err := n.members("grid")
	if err != nil {
		return step{}, err
	}
	out := step{size: 1}
	var axes []axis
	for _, m := range ms {
		a, err := readAxis(m, true)
		if err != nil {
			return out, err
		}
		axes = append(axes, a)
		if out.size *= len(a.all()); out.size > MostCells {
			return out, m.value.errorf("grid: more than %d cells", MostCells)
		}
	}
	out.expand = grid(axes)
	return out, nil
}

// readAxis reads a list of values or a range.
func readAxis(m member, counted bool) (axis, error) {
	a := axis{name: m.name, line: m.key.line()}
	if l, err := m.value.items(m.name); err == nil {
		if len(l) == 0 {
			return a, m.value.errorf("%s: an empty list", m.name)
		}
		v, err := m.value.value(m.name)
		a.list, _ = v.([]any)
		return a, err
	}
	scale, from, to := "linear", false, false
	fields := map[string]func(node) error{
		"from":    func(n node) error { from = true; return real(&a.from, m.name+".from")(n) },
		"to":      func(n node) error { to = true; return real(&a.to, m.name+".to")(n) },
		"scale":   text(&scale, m.name+".scale"),
		"integer": truth(&a.integer, m.name+".integer"),
	}
	if counted {
		fields["count"] = whole(&a.count, m.name+".count", 1)
	}
	if err := m.value.fields(m.name, fields); err != nil {
		return a, err
	}
	a.log = scale == "log"
	const exact = 1<<53 - 1 // the integers that a float64 tells from their neighbours
	switch {
	case !from || !to:
		return a, m.value.errorf("%s: a range needs from and to", m.name)
	case a.count > MostCells:
		return a, m.value.errorf("%s: count %d: at most %d", m.name, a.count, MostCells)
	case a.integer && max(math.Abs(a.from), math.Abs(a.to)) > exact:
		return a, m.value.errorf("%s: from %.0f to %.0f: integers of a range are within ±(2^53 − 1)", m.name, a.from, a.to)
	case counted && a.count == 0:
		return a, m.value.errorf("%s: a range in a grid needs a count", m.name)
	case scale != "linear" && scale != "log":
		return a, m.value.errorf("%s: scale %q: want linear or log", m.name, scale)
	case a.log && (a.from <= 0 || a.to <= 0):
		return a, m.value.errorf("%s: from %g to %g: a logarithmic range is positive", m.name, a.from, a.to)
	}
	return a, nil
}

// sampler reads {count, seed, over}. The points are drawn once, so that cells of
// earlier steps share them.
func sampler(kind string, points func(n, dim int, rnd *rand.Rand) [][]float64) func(node) (step, error) {
	return func(n node) (step, error) {
		var count int
		var seed uint64 = 1
		seeded := kind != "sobol"
		var axes []axis
		err := n.fields(kind, map[string]func(node) error{
			"count": whole(&count, kind+".count", 1),
			"seed":  func(n node) error { seeded = true; return whole(&seed, kind+".seed", 0)(n) },
			"over": func(n node) error {
				ms, err := n.members(kind + ".over")
				for _, m := range ms {
					a, err := readAxis(m, false)
					if err != nil {
						return err
					}
					axes = append(axes, a)
				}
				return err
			},
		})
		switch {
		case err != nil:
			return step{}, err
		case count == 0 || len(axes) == 0:
			return step{}, n.errorf("%s: want a count and over", kind)
		case count > MostCells:
			return step{}, n.errorf("%s: count %d: at most %d", kind, count, MostCells)
		case kind == "sobol" && len(axes) > MaxSobol:
			return step{}, n.errorf("sobol: %d dimensions: at most %d", len(axes), MaxSobol)
		}
		var rnd *rand.Rand
		if seeded {
			rnd = stream(seed)
		}
		return step{size: count, drawn: axes, expand: sample(points(count, len(axes), rnd), axes)}, nil
	}
}
