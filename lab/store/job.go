package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"coupling/lab/device"

	"github.com/go-json-experiment/json"
)

// A Job is a cell that can be computed; figures list jobs and executors run them.
type Job struct {
	id        Record
	of        *Decoder // nil: only another program knows the experiment
	params    any
	elsewhere func(ctx context.Context, s *Store) (recalled bool, err error)

	invalid     error // why it must not be computed
	interactive bool  // a person may be editing its code: recall only what this code computed
}

// Record returns the cell's identity: a record without its value.
func (j Job) Record() Record { return j.id }

// Work returns what the networks of the cell compute on dev: multiplications and additions, and
// steps that wait for one another; see [Decoder].
func (j Job) Work(dev *device.Device) (flop, steps float64) {
	if j.of == nil || j.of.Work == nil {
		return 0, 0
	}
	return j.of.Work(j.params, dev)
}

// Do recalls the cell or computes and stores it. If another process computes it, Do waits.
func (j Job) Do(ctx context.Context, s *Store) error {
	for l := range (Local{Workers: 1}).Land(ctx, s, []Job{j}) {
		return l.Err
	}
	return context.Cause(ctx)
}

// Try is Do without waiting: if another process computes the cell, the error is [ErrBusy]. It
// reports whether the store held the cell.
func (j Job) Try(ctx context.Context, s *Store) (recalled bool, err error) {
	_, recalled, err = j.try(ctx, s)
	return recalled, j.id.CellError(err)
}

// check checks that the values of a record have the types of the experiment.
func (j Job) check(r Record) error {
	if j.of == nil {
		return nil
	}
	return r.Decode(reflect.New(j.of.Params).Interface(), reflect.New(j.of.Result).Interface())
}

// A Decoder is an experiment with its types erased. It makes jobs from parameters: those of a
// program, those that another process wrote, and those that a person did.
type Decoder struct {
	Experiment string // its name
	Version    int
	Inputs     string       // what no digest of code can see; see lab.Experiment
	Params     reflect.Type // a struct
	Result     reflect.Type
	Func       string // the full name of the function that Run calls; empty if there is none
	Run        func(ctx context.Context, a *Attempt, params any) (result any, err error)
	Work       func(params any, dev *device.Device) (flop, steps float64) // nil: there are no networks
}

// Code returns the code by which this program computes the experiment; see [Record].
func (d Decoder) Code() string { code, _ := codeOf(d.Experiment, d.Inputs, d.Func); return code }

// shape returns the fingerprint of the result type, or "" if it has none.
func (d Decoder) shape() string { form, _ := shapeOf(d.Result); return form }

// Identify fills the part of a record that is known before the cell has run. It fails if the name is
// not a path of lower-case words, or a type has no faithful JSON form.
func (d Decoder) Identify(seed uint64, params any) (Record, error) {
	r := Record{Experiment: d.Experiment, Version: d.Version, Seed: seed}
	if !namePattern.MatchString(d.Experiment) {
		return r, fmt.Errorf("lab: experiment name %q: want lower-case words separated by slashes", d.Experiment)
	}
	_, err := shapeOf(d.Params)
	form, errR := shapeOf(d.Result)
	if err := errors.Join(err, errR); err != nil {
		return r, fmt.Errorf("lab: types of %s: %w", d.Experiment, err)
	}
	text, err := Marshal(params)
	if err == nil {
		text, err = canonical(text)
	}
	if err != nil {
		return r, fmt.Errorf("lab: parameters of %s: %w", d.Experiment, err)
	}
	r.Shape, r.Params = form, text
	r.Key = r.key()
	return r, nil
}

// Job returns the cell at (seed, params); params are of the type d.Params. With an error, which
// doing the job gives too, its record has a key only if the parameters are out of bounds.
func (d Decoder) Job(seed uint64, params any) (Job, error) {
	j := Job{of: &d, params: params}
	j.id, j.invalid = d.Identify(seed, params)
	j.id.Code, j.interactive = codeOf(d.Experiment, d.Inputs, d.Func)
	if j.invalid == nil {
		j.invalid = checkParams(d.Experiment, params)
	}
	return j, j.invalid
}

// decode returns the job whose parameters are JSON.
func (d Decoder) decode(seed uint64, params []byte, options ...json.Options) (Job, error) {
	p := reflect.New(d.Params)
	if err := unmarshal(params, p.Interface(), options...); err != nil {
		return Job{}, err
	}
	return d.Job(seed, p.Elem().Interface())
}

// An UnknownParamError is a parameter that an experiment does not have.
type UnknownParamError struct {
	Experiment string
	Path       string // a JSON pointer, "/noise/epz"
	Known      []string
}

func (e *UnknownParamError) Error() string {
	name := strings.ReplaceAll(strings.TrimPrefix(e.Path, "/"), "/", ".")
	return fmt.Sprintf("lab: %s has no parameter %s%s", e.Experiment, name, DidYouMean(name, e.Known))
}

// Make returns the job with a seed and parameters that a person wrote: a
// member that the parameter type does not have is an [*UnknownParamError].
func (d Decoder) Make(seed uint64, params []byte) (Job, error) {
	j, err := d.decode(seed, params, json.RejectUnknownMembers(true))
	if e := (*json.SemanticError)(nil); errors.As(err, &e) {
		if errors.Is(err, json.ErrUnknownName) {
			unknown := &UnknownParamError{Experiment: d.Experiment, Path: string(e.JSONPointer)}
			for _, p := range Params(d.Params) {
				unknown.Known = append(unknown.Known, p.Name)
			}
			return Job{}, unknown
		}
		return Job{}, fmt.Errorf("lab: parameters of %s: %s: %w", d.Experiment, params, err)
	}
	return j, err
}

// EncodeJob returns j as one line of JSON, for [DecodeJob] in another process.
func EncodeJob(j Job) ([]byte, error) { return Marshal(j.id) }

// DecodeJob returns the job that line describes. The error names the experiment
// if none of ds knows it, or if this program would give the cell another key.
func DecodeJob(line []byte, ds []Decoder) (Job, error) {
	id, err := ParseJob(line)
	if err != nil {
		return Job{}, err
	}
	d, err := DecoderOf(id.Experiment, ds)
	if err != nil {
		return Job{}, fmt.Errorf("lab: job: %w", err)
	}
	j, err := d.decode(id.Seed, id.Params)
	if err != nil && j.id.Key == "" {
		return Job{}, fmt.Errorf("lab: job of %s: parameters %s: %w", d.Experiment, id.Params, err)
	}
	if j.id.Key != id.Key {
		return Job{}, fmt.Errorf("lab: job of %s: key %s, but this program makes it %s: version %d or the types differ", d.Experiment, id.Key, j.id.Key, d.Version)
	}
	return j, nil
}

// DecoderOf returns the decoder of the experiment called name.
func DecoderOf(name string, ds []Decoder) (Decoder, error) {
	var names []string
	for _, d := range ds {
		if d.Experiment == name {
			return d, nil
		}
		names = append(names, d.Experiment)
	}
	return Decoder{}, fmt.Errorf("experiment %q: %w%s", name, ErrNoExperiment, DidYouMean(name, names))
}

// ParseJob returns the identity in a line of [EncodeJob], without knowing the experiment: which
// suffices to look for the cell in a store.
func ParseJob(line []byte) (Record, error) {
	var r Record
	if err := unmarshal(line, &r); err != nil {
		return Record{}, fmt.Errorf("lab: job %.80q: %w", line, err)
	}
	whole := len(r.Key) == keyDigits && isHex(string(r.Key)) && (r.Code == "" || isCode(r.Code))
	if !whole || !namePattern.MatchString(r.Experiment) {
		return Record{}, fmt.Errorf("lab: job %.80q: experiment %q, key %q, code %q: want a name and digests",
			line, r.Experiment, r.Key, r.Code)
	}
	return r, nil
}

// ExternalJob returns the job of a cell whose experiment only another program knows. do lets that
// program compute it, unless the store holds it or another process computes it ([ErrBusy]), and
// reports which.
func ExternalJob(id Record, do func(ctx context.Context, s *Store) (recalled bool, err error)) Job {
	return Job{id: id, elsewhere: do, interactive: true}
}

// Missing returns the jobs whose cells must be computed, each cell once; see
// [Store.Survey].
func (s *Store) Missing(jobs []Job) []Job {
	missing, _ := s.Survey(jobs)
	return missing
}

// Survey returns the jobs whose cells must be computed, each once, and those whose cells are
// recalled though only other code computed them. Existing records are read, many at once, to check
// them.
func (s *Store) Survey(jobs []Job) (missing, otherCode []Job) {
	var once []Job
	seen := make(map[Key]bool, len(jobs))
	for _, j := range jobs {
		if !seen[j.id.Key] {
			seen[j.id.Key] = true
			once = append(once, j)
		}
	}
	ids := make([]Record, len(once))
	for i, j := range once {
		ids[i] = j.id
	}
	there, unknown := s.Statuses(ids) // less work than to open every cell
	errs, other := make([]error, len(once)), make([]bool, len(once))
	parallel(len(once), func(i int) {
		if unknown == nil && !there[once[i].id.Key].Stored {
			errs[i] = ErrMissing
			return
		}
		var r Record
		r, errs[i] = once[i].recall(s)
		other[i] = once[i].OtherCode(r)
	})
	for i, j := range once {
		switch {
		case errs[i] != nil:
			missing = append(missing, j)
		case other[i]:
			otherCode = append(otherCode, j)
		}
	}
	return missing, otherCode
}
