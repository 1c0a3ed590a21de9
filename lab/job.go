package lab

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json"
)

// A Job is a cell whose types are erased: what figures list and executors ship.
type Job interface {
	// Record returns the cell's identity: all of a record but its value.
	Record() Record
	// Recall returns the finished cell; see [Recall].
	Recall(s *Store) (Record, error)
	// Do recalls the cell or computes and stores it; see [Do].
	Do(ctx context.Context, s *Store) error
}

// A Decoder finds a job again from its identity, in another process.
type Decoder interface {
	// Experiment and Version say whose jobs it decodes, and Shape of which result.
	Experiment() string
	Version() int
	Shape() string
	// Decode returns the job with the seed and parameters of id, whose key it checks.
	Decode(id Record) (Job, error)
	// Make returns the job with a seed and parameters that a person wrote: a
	// member that the parameter type does not have is an [*UnknownParamError].
	Make(seed uint64, params []byte) (Job, error)
}

type job[P, R any] struct {
	e  Experiment[P, R]
	id Record
	p  P
}

func (j job[P, R]) Record() Record { return j.id }

func (j job[P, R]) Recall(s *Store) (Record, error) {
	r, err := s.read(s.paths(j.id).record)
	if err == nil {
		_, err = typed[P, R](s, r)
	}
	if err != nil {
		return r, fmt.Errorf("cell %s of %s: %w", j.id.Key, j.id.Experiment, err)
	}
	return r, nil
}

func (j job[P, R]) Do(ctx context.Context, s *Store) error {
	_, err := Do(ctx, s, j.e, j.id.Seed, j.p)
	return err
}

// Jobs returns the cells at ps as jobs. It panics if a key cannot be formed,
// which is a fault of the experiment's declaration: a bad name, or parameters
// that have no JSON form.
func (e Experiment[P, R]) Jobs(seed uint64, ps ...P) []Job {
	jobs := make([]Job, len(ps))
	for i, p := range ps {
		id, err := e.identify(seed, p)
		if err != nil {
			panic(err)
		}
		jobs[i] = job[P, R]{e, id, p}
	}
	return jobs
}

type decoder[P, R any] struct{ e Experiment[P, R] }

// Decoder returns the decoder of e's jobs.
func (e Experiment[P, R]) Decoder() Decoder { return decoder[P, R]{e} }

func (d decoder[P, R]) Experiment() string { return d.e.Name }
func (d decoder[P, R]) Version() int       { return d.e.Version }

func (d decoder[P, R]) Shape() string {
	var p P
	id, err := d.e.identify(0, p)
	if err != nil {
		panic(err)
	}
	return id.Shape
}

func (d decoder[P, R]) Decode(id Record) (Job, error) {
	var p P
	if err := unmarshal(id.Params, &p); err != nil {
		return nil, fmt.Errorf("lab: job of %s: parameters %s: %w", d.e.Name, id.Params, err)
	}
	j := d.e.Jobs(id.Seed, p)[0]
	if got := j.Record().Key; got != id.Key {
		return nil, fmt.Errorf("lab: job of %s: key %s, but this program makes it %s: version %d or the types differ", d.e.Name, id.Key, got, d.e.Version)
	}
	return j, nil
}

// An UnknownParamError is a parameter that an experiment does not have.
type UnknownParamError struct {
	Experiment string
	Path       string // a JSON pointer, "/noise/epz"
}

func (e *UnknownParamError) Error() string {
	return fmt.Sprintf("lab: %s has no parameter %s", e.Experiment, strings.ReplaceAll(strings.TrimPrefix(e.Path, "/"), "/", "."))
}

func (d decoder[P, R]) Make(seed uint64, params []byte) (Job, error) {
	var p P
	err := unmarshal(params, &p, json.RejectUnknownMembers(true))
	if e := (*json.SemanticError)(nil); errors.As(err, &e) && errors.Is(err, json.ErrUnknownName) {
		return nil, &UnknownParamError{d.e.Name, string(e.JSONPointer)}
	}
	if err != nil {
		return nil, fmt.Errorf("lab: parameters of %s: %s: %w", d.e.Name, params, err)
	}
	id, err := d.e.identify(seed, p)
	if err != nil {
		return nil, err
	}
	return job[P, R]{d.e, id, p}, nil
}

// jobLine is how a job travels.
type jobLine struct {
	Experiment string             `json:"experiment"`
	Version    int                `json:"version"`
	Key        Key                `json:"key"`
	Seed       uint64             `json:"seed"`
	Params     stdjson.RawMessage `json:"params"`
}

// EncodeJob returns j as one line of JSON, for [DecodeJob] in another process.
func EncodeJob(j Job) ([]byte, error) {
	id := j.Record()
	return marshal(jobLine{id.Experiment, id.Version, id.Key, id.Seed, id.Params})
}

// DecodeJob returns the job that line describes. The error names the experiment
// if none of ds knows it, or if this program would give the cell another key.
func DecodeJob(line []byte, ds []Decoder) (Job, error) {
	id, err := ParseJob(line)
	if err != nil {
		return nil, err
	}
	for _, d := range ds {
		if d.Experiment() == id.Experiment {
			return d.Decode(id)
		}
	}
	return nil, fmt.Errorf("lab: job of %q: this program does not know that experiment", id.Experiment)
}

// ParseJob returns the identity in a line of [EncodeJob], without knowing the
// experiment: enough to look for the cell in a store.
func ParseJob(line []byte) (Record, error) {
	var l jobLine
	if err := unmarshal(line, &l); err != nil {
		return Record{}, fmt.Errorf("lab: job %.80q: %w", line, err)
	}
	if len(l.Key) != keyDigits || !namePattern.MatchString(l.Experiment) {
		return Record{}, fmt.Errorf("lab: job %.80q: experiment %q, key %q: want a name and %d digits", line, l.Experiment, l.Key, keyDigits)
	}
	return Record{Key: l.Key, Experiment: l.Experiment, Version: l.Version, Seed: l.Seed, Params: l.Params}, nil
}

// Foreign returns the job of a cell whose experiment only another program
// knows; do has that program compute it.
func Foreign(id Record, do func(ctx context.Context, s *Store) error) Job { return foreign{id, do} }

type foreign struct {
	id Record
	do func(context.Context, *Store) error
}

func (j foreign) Record() Record { return j.id }

func (j foreign) Recall(s *Store) (Record, error) {
	r, err := s.read(s.paths(j.id).record)
	if err != nil {
		return r, fmt.Errorf("cell %s of %s: %w", j.id.Key, j.id.Experiment, err)
	}
	return r, nil
}

func (j foreign) Do(ctx context.Context, s *Store) error { return j.do(ctx, s) }

// Missing returns the jobs whose cells s does not hold, each cell once. Those
// whose records are there are read, many at once, to see that they can be.
func (s *Store) Missing(jobs []Job) []Job {
	var once []Job
	seen := make(map[Key]bool, len(jobs))
	for _, j := range jobs {
		if key := j.Record().Key; !seen[key] {
			seen[key] = true
			once = append(once, j)
		}
	}
	there := s.there(once)
	missing := make([]bool, len(once))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(readAhead, len(once)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(once); i = next.Add(1) - 1 {
				key := once[i].Record().Key
				if there != nil && !there[key].Stored {
					missing[i] = true
					continue
				}
				_, err := once[i].Recall(s)
				missing[i] = err != nil
			}
		})
	}
	wg.Wait()
	var out []Job
	for i, j := range once {
		if missing[i] {
			out = append(out, j)
		}
	}
	return out
}

// there looks by reading directories where that is less work than asking for
// every cell; nil where it is not, or fails.
func (s *Store) there(jobs []Job) map[Key]Presence {
	if len(jobs) < 512 {
		return nil
	}
	ids := make([]Record, len(jobs))
	for i, j := range jobs {
		ids[i] = j.Record()
	}
	p, err := s.Glance(ids)
	if err != nil {
		return nil
	}
	return p
}
