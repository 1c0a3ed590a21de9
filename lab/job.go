package lab

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"coupling/lab/device"

	"github.com/go-json-experiment/json"
)

// A Job is a cell with its types erased; figures list jobs and executors run them.
type Job struct {
	id        Record
	run       func(ctx context.Context, c *Cell) (value any, err error)
	check     func(Record) error // checks that its value has the result's type; nil: not known here
	work      func(*device.Device) Work
	elsewhere func(ctx context.Context, s *Store) (recalled bool, err error)

	invalid     error // why it must not be computed
	interactive bool  // a person may be editing its code: recall only what this code computed
}

// Record returns the cell's identity: a record without its value.
func (j Job) Record() Record { return j.id }

// Work returns what the networks of the cell compute; see [Experiment].
func (j Job) Work(dev *device.Device) Work {
	if j.work == nil {
		return Work{}
	}
	return j.work(dev)
}

// Recall returns the finished cell; see [Recall].
func (j Job) Recall(s *Store) (Record, error) {
	r, err := j.recall(s)
	if err != nil {
		return r, fmt.Errorf("cell %s of %s: %w", j.id.Key, j.id.Experiment, err)
	}
	return r, nil
}

// Do recalls the cell or computes and stores it; see [Do].
func (j Job) Do(ctx context.Context, s *Store) error {
	for l := range share(ctx, s, nil, 1, []Job{j}) {
		return l.err
	}
	return context.Cause(ctx)
}

// Try is Do without waiting: if another process computes the cell, the error is [ErrBusy]. It
// reports whether the store held the cell.
func (j Job) Try(ctx context.Context, s *Store) (recalled bool, err error) {
	_, recalled, err = j.try(ctx, s)
	return recalled, j.id.CellError(err)
}

// job returns the cell at (seed, p).
func (e Experiment[P, R]) job(seed uint64, p P) (Job, error) {
	id, err := e.identify(seed, p)
	var interactive bool
	id.Code, interactive = codeOf(e.Name, e.Inputs, e.Run)
	if err == nil {
		err = checkParams(e.Name, p)
	}
	j := Job{
		id: id, invalid: err, interactive: interactive,
		run: func(ctx context.Context, c *Cell) (any, error) {
			if e.Run == nil {
				return nil, errors.New("the experiment's Run is nil")
			}
			return e.Run(ctx, c, p)
		},
		check: func(r Record) error {
			_, err := typedRecord[P, R](r)
			return err
		},
	}
	if e.Work != nil {
		j.work = func(dev *device.Device) Work { return e.Work(p, dev) }
	}
	return j, err
}

// Jobs returns the cells at ps as jobs. It panics if a key cannot be formed, because the experiment
// is declared wrongly: a bad name, or parameters without a JSON form. A job whose parameters are
// refused fails when it is done.
func (e Experiment[P, R]) Jobs(seed uint64, ps ...P) []Job {
	jobs := make([]Job, len(ps))
	for i, p := range ps {
		var err error
		if jobs[i], err = e.job(seed, p); err != nil && jobs[i].id.Key == "" {
			panic(err)
		}
	}
	return jobs
}

// A Decoder is an experiment with its types erased. It makes a job from its identity, in another
// process, or from parameters that a person wrote.
type Decoder struct {
	Experiment string
	Version    int
	Shape      string       // fingerprint of the result type
	Params     reflect.Type // a struct
	code       func() string
	job        func(seed uint64, params []byte, options ...json.Options) (Job, error)
}

// Decoder returns the decoder of e's jobs.
func (e Experiment[P, R]) Decoder() Decoder {
	form, _ := shape(reflect.TypeFor[R]()) // job reports an error of the form
	return Decoder{
		Experiment: e.Name, Version: e.Version,
		Shape: form, Params: reflect.TypeFor[P](),
		code: func() string { code, _ := codeOf(e.Name, e.Inputs, e.Run); return code },
		job: func(seed uint64, params []byte, options ...json.Options) (Job, error) {
			var p P
			if err := unmarshal(params, &p, options...); err != nil {
				return Job{}, err
			}
			return e.job(seed, p)
		},
	}
}

// Code returns the code by which this program computes the experiment; see [Record].
func (d Decoder) Code() string { return d.code() }

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
	j, err := d.job(seed, params, json.RejectUnknownMembers(true))
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
func EncodeJob(j Job) ([]byte, error) { return marshal(j.id) }

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
	j, err := d.job(id.Seed, id.Params)
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
		other[i] = once[i].otherCode(r)
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
