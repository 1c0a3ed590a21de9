package sweepfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"coupling/lab"
)

// A Sweep is the content of a file: its jobs, or a halving of them.
type Sweep struct {
	Experiment string
	Seeds      []uint64
	// Jobs are the cells, the seeds of one set of parameters beside each other. A cell that two
	// steps produce is listed once.
	Jobs []lab.Job
	// Halving is nil unless the file asks for early stopping; Jobs are then those
	// of the smallest budget.
	Halving *Halving
}

// MostCells is the number of cells of the largest design that is expanded.
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
	p := reader{root: root, document: document{Seed: 1, Replicates: 1}}
	if err := root.read(&p.document, "sweep"); err != nil {
		return nil, err
	}
	var names []string
	for _, d := range ds {
		names = append(names, d.Experiment)
	}
	i := slices.Index(names, p.Experiment)
	switch {
	case p.Experiment == "":
		return nil, root.errorf("no experiment: coupling experiments lists them")
	case i < 0:
		return nil, root.at("experiment").errorf("experiment %q: there is none; %s", p.Experiment, lab.DidYouMean(p.Experiment, names))
	}
	p.decoder = ds[i]
	return p.sweep()
}

// document is a file as written.
type document struct {
	Experiment string
	Seed       uint64
	Replicates int `min:"1"`
	Params     values
	Design     []step
	Halving    *Halving
}

// reader turns a document into a sweep.
type reader struct {
	document
	root    node
	decoder lab.Decoder
}

func (p *reader) sweep() (*Sweep, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	cells, err := p.cells()
	if err != nil {
		return nil, err
	}
	out := &Sweep{Experiment: p.Experiment, Halving: p.Halving}
	for i := range p.Replicates {
		out.Seeds = append(out.Seeds, p.Seed+uint64(i))
	}
	seen := map[lab.Key]bool{}
	for _, c := range cells {
		if p.Halving != nil {
			c = c.with(p.Halving.Budget, int64(p.Halving.Min), p.root.at("halving").line())
		}
		for _, seed := range out.Seeds {
			j, err := p.job(seed, c)
			if err != nil {
				return nil, err
			}
			if key := j.Record().Key; !seen[key] {
				seen[key] = true
				out.Jobs = append(out.Jobs, j)
			}
		}
	}
	if h := p.Halving; h != nil {
		h.at = func(j lab.Job, budget int) (lab.Job, error) { return rebudget(p.decoder, j, h.Budget, budget) }
	}
	return out, nil
}

// check refuses invalid combinations of fields.
func (p *reader) check() error {
	at := p.root.at
	switch {
	case p.Replicates > MostCells:
		return at("replicates").errorf("replicates %d: at most %d", p.Replicates, MostCells)
	case p.Replicates > 1 && p.Halving != nil:
		return at("replicates").errorf("replicates %d: halving judges single cells, and would promote lucky seeds: want 1", p.Replicates)
	case p.Seed > math.MaxUint64-uint64(p.Replicates-1):
		return at("seed").errorf("seed %d: %d replicates go beyond 2^64", p.Seed, p.Replicates)
	case p.Halving == nil:
		return nil
	}
	switch h, n := p.Halving, at("halving"); {
	case h.Budget == "" || h.Metric == "" || h.Min == 0 || h.Max < h.Min:
		return n.errorf("halving: budget %q from %d to %d, metric %q: want all four, and min ≤ max", h.Budget, h.Min, h.Max, h.Metric)
	case h.Goal != "" && h.Goal != "min" && h.Goal != "max":
		return n.errorf("halving: goal %q: want min or max", h.Goal)
	case h.Factor == 0:
		h.Factor = 3
	}
	return nil
}

// job makes a cell; errors of the experiment's parameters get the line that set them.
func (p *reader) job(seed uint64, c values) (lab.Job, error) {
	params, err := c.nested()
	if err != nil {
		return lab.Job{}, p.root.errorf("%w", err)
	}
	b, err := json.Marshal(params)
	if err != nil {
		return lab.Job{}, p.root.errorf("params: %w", err)
	}
	j, err := p.decoder.Make(seed, b)
	if err != nil {
		return lab.Job{}, &Error{p.root.file, c.lineOf(blamed(err), p.root.line()), err}
	}
	return j, nil
}

// blamed returns the parameter that an error is about.
func blamed(err error) string {
	var unknown *lab.UnknownParamError
	var refused *lab.ParamError
	pointer := ""
	switch {
	case errors.As(err, &refused):
		return refused.Param
	case errors.As(err, &unknown):
		pointer = unknown.Path
	default: // of the JSON decoder
		_, rest, _ := strings.Cut(err.Error(), `within "`)
		pointer, _, _ = strings.Cut(rest, `"`)
	}
	return strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", ".")
}
