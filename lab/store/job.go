package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"coupling/lab/device"

	"github.com/go-json-experiment/json"
)

// A Job is a cell that can be computed; figures list jobs and executors run them.
type Job struct {
	*family
	key       Key
	seed      uint64
	params    []byte // as JSON
	value     any    // the parameters, of their Go type
	invalid   error
	elsewhere func(ctx context.Context, s *Store) (recalled bool, err error)
}

// A family is what the jobs of one experiment share.
type family struct {
	of          *Decoder // nil: only another program knows the experiment
	id          Record   // without key, seed and parameters
	bounded     []Param  // parameters that have bounds
	err         error    // why no cell has a key
	interactive bool     // a person may be editing its code: recall only what this code computed
}

// HasKey reports whether the cell has a key, though its parameters may be out of bounds.
func (j Job) HasKey() bool { return j.key != "" }

// Record returns the cell's identity: a record without its value.
func (j Job) Record() Record {
	r := j.id
	r.Key, r.Seed, r.Params = j.key, j.seed, j.params
	return r
}

// Params returns the parameters, of their Go type; nil if only another program knows the experiment.
func (j Job) Params() any { return j.value }

// fail is an error of the cell, or nil.
func (j Job) fail(err error) error { return j.Record().CellError(err) }

// Work is what trainings and evaluations of networks compute.
type Work struct {
	FLOP  float64 // multiplications and additions of products and convolutions
	Steps float64 // of trainings, and evaluations of batches: passes that wait for one another
}

// Plus returns the sum.
func (w Work) Plus(v Work) Work { return Work{w.FLOP + v.FLOP, w.Steps + v.Steps} }

// Work returns what the networks of the cell compute on dev; see [Decoder].
func (j Job) Work(dev *device.Device) Work {
	if j.of == nil || j.of.Work == nil {
		return Work{}
	}
	return j.of.Work(j.value, dev)
}

// Try recalls the cell or computes and stores it, and reports whether the store held it. If another process computes
// it, the error is [ErrBusy].
func (j Job) Try(ctx context.Context, s *Store) (recalled bool, err error) {
	_, recalled, err = j.try(ctx, s)
	return recalled, j.fail(err)
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
	Func       runtime.Frame // the function that Run calls; zero if there is none
	Run        func(ctx context.Context, a *Attempt, params any) (result any, err error)
	Work       func(params any, dev *device.Device) Work // nil: there are no networks

	once   sync.Once
	shared family
}

// Code returns the code by which this program computes the experiment; see [Record].
func (d *Decoder) Code() string { return d.family().id.Code }

// shape returns the fingerprint of the result type, or "" if it has none.
func (d *Decoder) shape() string { return d.family().id.Shape }

// family returns what all jobs of d share, found once.
func (d *Decoder) family() *family {
	d.once.Do(func() {
		_, err := shape(d.Params)
		form, errR := shape(d.Result)
		d.shared = family{of: d, id: Record{Experiment: d.Experiment, Version: d.Version, Shape: form}}
		if !namePattern.MatchString(d.Experiment) {
			d.shared.err = fmt.Errorf("lab: experiment name %q: want lower-case words separated by slashes",
				d.Experiment)
		} else if err := errors.Join(err, errR); err != nil {
			d.shared.err = fmt.Errorf("lab: types of %s: %w", d.Experiment, err)
		}
		for _, p := range Params(d.Params) {
			if p.Range() != "" {
				d.shared.bounded = append(d.shared.bounded, p)
			}
		}
		d.shared.id.Code, d.shared.interactive = codeOf(d.Inputs, d.Func)
	})
	return &d.shared
}

// Job returns the cell at (seed, params); params are of the type d.Params. With an error, which
// doing the job gives too, it has a key only if the parameters are out of bounds: the name of the
// experiment may be wrong, or a type have no faithful JSON form.
func (d *Decoder) Job(seed uint64, params any) (Job, error) {
	j := Job{family: d.family(), seed: seed, value: params}
	if j.invalid = j.family.err; j.invalid == nil {
		j.invalid = j.identify()
	}
	if j.invalid == nil {
		j.invalid = j.checkParams(params)
	}
	return j, j.invalid
}

func (j *Job) identify() error {
	text, err := Marshal(j.value)
	if err == nil {
		text, err = canonical(text)
	}
	if err != nil {
		return fmt.Errorf("lab: parameters of %s: %w", j.id.Experiment, err)
	}
	j.params = text
	j.key = j.Record().key()
	return nil
}

func (d *Decoder) decode(seed uint64, params []byte, options ...json.Options) (Job, error) {
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
func (d *Decoder) Make(seed uint64, params []byte) (Job, error) {
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
func EncodeJob(j Job) ([]byte, error) { return Marshal(j.Record()) }

// DecodeJob returns the job that line describes. The error names the experiment
// if none of ds knows it, or if this program would give the cell another key.
func DecodeJob(line []byte, ds []*Decoder) (Job, error) {
	id, err := ParseJob(line)
	if err != nil {
		return Job{}, err
	}
	d, err := DecoderOf(id.Experiment, ds)
	if err != nil {
		return Job{}, fmt.Errorf("lab: job: %w", err)
	}
	j, err := d.decode(id.Seed, id.Params)
	if err != nil && j.key == "" {
		return Job{}, fmt.Errorf("lab: job of %s: parameters %s: %w", d.Experiment, id.Params, err)
	}
	if j.key != id.Key {
		return Job{}, fmt.Errorf("lab: job of %s: key %s, but this program makes it %s: version %d or the types differ",
			d.Experiment, id.Key, j.key, d.Version)
	}
	return j, nil
}

// DecoderOf returns the decoder of the experiment called name.
func DecoderOf(name string, ds []*Decoder) (*Decoder, error) {
	var names []string
	for _, d := range ds {
		if d.Experiment == name {
			return d, nil
		}
		names = append(names, d.Experiment)
	}
	return nil, fmt.Errorf("experiment %q: %w%s", name, ErrNoExperiment, DidYouMean(name, names))
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
// program compute it, unless it is stored, which do reports, or another process does ([ErrBusy]).
func ExternalJob(id Record, do func(ctx context.Context, s *Store) (recalled bool, err error)) Job {
	return Job{family: &family{id: id, interactive: true}, key: id.Key, seed: id.Seed, params: id.Params, elsewhere: do}
}

// Missing returns the jobs whose cells must be computed, each cell once; see [Store.Survey].
func (s *Store) Missing(jobs []Job) (missing []Job) {
	s.Survey(slices.Values(jobs), func(j Job) { missing = append(missing, j) })
	return missing
}

// A Survey counts cells, each once.
type Survey struct {
	Missing   int // must be computed
	Recalled  int
	OtherCode int // of Recalled: only other code computed them
}

// Survey calls missing, in the order of jobs, for each cell that must be computed. Existing records
// are read, many at once, to check them. It keeps no job.
func (s *Store) Survey(jobs iter.Seq[Job], missing func(Job)) (out Survey) {
	stored := s.stored()
	errs, other, files := [8 * readAhead]error{}, [8 * readAhead]bool{}, [8 * readAhead][]file{}
	for some := range chunks(Distinct(jobs), len(errs)) {
		var there []int // among some; less work than to open every cell
		for i, j := range some {
			var ok bool
			errs[i] = ErrMissing
			if files[i], ok = stored(j); ok {
				there = append(there, i)
			}
		}
		parallel(len(there), func(k int) {
			var r Record
			i := there[k]
			r, errs[i] = some[i].recall(s, files[i]...)
			other[i] = some[i].OtherCode(r)
		})
		for i, j := range some {
			if errs[i] != nil {
				out.Missing++
				missing(j)
				continue
			}
			if out.Recalled++; other[i] {
				out.OtherCode++
			}
		}
	}
	return out
}

// stored returns a function that reports whether a cell may be in the store, as far as file names
// tell, and its records' files. It reads each folder once.
func (s *Store) stored() func(Job) (files []file, ok bool) {
	folders := map[string]map[Key][]file{} // nil: it cannot be read
	return func(j Job) ([]file, bool) {
		if j.key == "" {
			return nil, true // recall says what is wrong
		}
		at := j.id.Experiment + string(j.key[:2])
		f, ok := folders[at]
		if !ok {
			all, err := s.shard(j.Record()).list()
			if err == nil {
				f = map[Key][]file{}
			}
			for _, x := range all {
				if x.suffix == recordSuffix {
					f[x.key()] = append(f[x.key()], file{name: x.name, suffix: x.suffix})
				}
			}
			folders[at] = f
		}
		return f[j.key], len(f[j.key]) > 0 || f == nil
	}
}

// Distinct yields each cell once, and every job without a key.
func Distinct(jobs iter.Seq[Job]) iter.Seq[Job] {
	return func(yield func(Job) bool) {
		seen := map[[keyDigits / 2]byte]bool{}
		for j := range jobs {
			var k [keyDigits / 2]byte
			_, _ = hex.Decode(k[:], []byte(j.key)) // every key has this form
			n := len(seen)
			if seen[k] = true; (len(seen) > n || j.key == "") && !yield(j) {
				return
			}
		}
	}
}

// chunks yields up to n jobs at a time.
func chunks(jobs iter.Seq[Job], n int) iter.Seq[[]Job] {
	return func(yield func([]Job) bool) {
		some := make([]Job, 0, n)
		for j := range jobs {
			if some = append(some, j); len(some) == n {
				if !yield(some) {
					return
				}
				some = some[:0]
			}
		}
		if len(some) > 0 {
			yield(some)
		}
	}
}
