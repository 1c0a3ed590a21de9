package sweepfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"

	"coupling/lab/durable"
	"coupling/lab/store"

	"go.yaml.in/yaml/v3"
)

// A Sweep is the content of a file: its jobs, or a halving of them.
type Sweep struct {
	// Halving is nil unless the file asks for early stopping; the jobs are then those
	// of the smallest budget.
	Halving *Halving

	file string
	jobs func(yield func(store.Job) bool) error
}

// MostCells is the number of cells of the largest design that is expanded.
const MostCells = 1_000_000

// mostBytes is the size of the largest file that is parsed.
const mostBytes = 1 << 20

// Read reads a YAML file; see [Parse].
func Read(path string, ds []*store.Decoder) (*Sweep, error) {
	b, err := durable.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	return Parse(path, b, ds)
}

// Parse reads a sweep for one of the experiments of ds. Errors in the file are
// of type [*Error] and have a line.
func Parse(file string, b []byte, ds []*store.Decoder) (*Sweep, error) {
	if len(b) > mostBytes {
		return nil, located(file, fmt.Errorf("it has %d bytes: want at most %d", len(b), mostBytes))
	}
	d := document{Seed: 1, Replicates: 1}
	in := yaml.NewDecoder(bytes.NewReader(b))
	err := in.Decode(&d)
	if errors.Is(err, io.EOF) {
		err = errors.New("the file is empty")
	} else if err == nil && !errors.Is(in.Decode(new(yaml.Node)), io.EOF) {
		err = errors.New("a second document: want one")
	}
	var sweep *Sweep
	if err == nil {
		sweep, err = d.sweep(file, ds)
	}
	if err != nil {
		return nil, located(file, err)
	}
	return sweep, nil
}

// document is a file as written.
type document struct {
	Experiment string
	Seed       uint64
	Replicates int `min:"1"`
	Params     values
	Design     []step
	Halving    *Halving

	line    map[string]int // of the keys
	decoder *store.Decoder
}

// UnmarshalYAML reads the file.
func (d *document) UnmarshalYAML(n *yaml.Node) (err error) {
	d.line, err = fields(n, d, "sweep")
	return err
}

// UnmarshalYAML reads a mapping.
func (h *Halving) UnmarshalYAML(n *yaml.Node) error {
	_, err := fields(n, h, "halving")
	return err
}

func (d *document) sweep(file string, ds []*store.Decoder) (*Sweep, error) {
	if err := d.check(ds); err != nil {
		return nil, err
	}
	out := &Sweep{Halving: d.Halving, file: file}
	cells := 0
	err := d.expand(d.Design, d.Params.with(nil), func(values) error {
		if cells += d.Replicates; cells > MostCells {
			return fmt.Errorf("more than %d cells", MostCells)
		}
		return nil
	})
	out.jobs = d.each
	return out, err
}

// Jobs yields the cells, of which not all must be in memory at a time: the seeds of one set of parameters
// beside each other. A cell that two steps produce comes once. An error in the parameters of a cell, an
// [*Error], is the last.
func (s *Sweep) Jobs() iter.Seq2[store.Job, error] {
	return func(yield func(store.Job, error) bool) {
		var err error
		for j := range store.Distinct(func(yield func(store.Job) bool) { err = s.jobs(yield) }) {
			if !yield(j, nil) {
				return
			}
		}
		if err != nil {
			yield(store.Job{}, located(s.file, err))
		}
	}
}

// All returns the cells.
func (s *Sweep) All() (all []store.Job, err error) {
	for j, err := range s.Jobs() {
		if err != nil {
			return nil, err
		}
		all = append(all, j)
	}
	return all, nil
}

var errStop = errors.New("the loop over the jobs was left")

// each calls yield for the jobs of all cells, until it returns false.
func (d *document) each(yield func(store.Job) bool) error {
	return d.expand(d.Design, d.Params.with(nil), func(c values) error {
		if d.Halving != nil {
			c[d.Halving.Budget] = value{v: d.Halving.Min, line: d.line["halving"]}
		}
		for i := range d.Replicates {
			j, err := d.job(d.Seed+uint64(i), c)
			if err != nil {
				return err
			}
			if !yield(j) {
				return errStop
			}
		}
		return nil
	})
}

// check finds the experiment and refuses invalid combinations of fields.
func (d *document) check(ds []*store.Decoder) error {
	var err error
	d.decoder, err = store.DecoderOf(d.Experiment, ds)
	switch {
	case d.Experiment == "":
		return errors.New("no experiment: coupling experiments lists them")
	case err != nil:
		return &Error{Line: d.line["experiment"], Err: err}
	case d.Replicates > MostCells:
		return errorf(d.line["replicates"], "replicates %d: at most %d", d.Replicates, MostCells)
	case d.Replicates > 1 && d.Halving != nil:
		return errorf(d.line["replicates"],
			"replicates %d: halving judges single cells, and would promote lucky seeds: want 1", d.Replicates)
	case d.Seed > math.MaxUint64-uint64(d.Replicates-1):
		return errorf(d.line["seed"], "seed %d: %d replicates go beyond 2^64", d.Seed, d.Replicates)
	}
	h, line := d.Halving, d.line["halving"]
	switch {
	case h == nil:
		return d.checkConditions()
	case h.Budget == "" || h.Metric == "" || h.Min == 0 || h.Max < h.Min:
		return errorf(line, "halving: budget %q from %d to %d, metric %q: want all four, and min ≤ max", h.Budget,
			h.Min, h.Max, h.Metric)
	case h.Goal != "" && h.Goal != "min" && h.Goal != "max":
		return errorf(line, "halving: goal %q: want min or max", h.Goal)
	case h.Factor == 0:
		h.Factor = 3
	}
	h.at = func(j store.Job, budget int) (store.Job, error) { return rebudget(d.decoder, j, h.Budget, budget) }
	return d.checkConditions()
}

// job makes a cell; errors of the experiment's parameters get the line that set them. A cell whose
// values are refused, but that has a key, is returned with the error.
func (d *document) job(seed uint64, c values) (store.Job, error) {
	params, err := c.nested()
	if err != nil {
		return store.Job{}, err
	}
	b, err := json.Marshal(params)
	if err != nil {
		return store.Job{}, fmt.Errorf("params: %w", err)
	}
	j, err := d.decoder.Make(seed, b)
	if err != nil {
		return j, &Error{Line: c.lineOf(blamed(err)), Err: err}
	}
	return j, nil
}

// blamed returns the parameter that an error is about.
func blamed(err error) string {
	var unknown *store.UnknownParamError
	var refused *store.ParamError
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
