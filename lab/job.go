package lab

import (
	"context"
	"encoding/json"
	"fmt"
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
	// Decode returns the job with the seed and parameters of id.
	Decode(id Record) (Job, error)
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

// jobLine is how a job travels.
type jobLine struct {
	Experiment string          `json:"experiment"`
	Version    int             `json:"version"`
	Key        Key             `json:"key"`
	Seed       uint64          `json:"seed"`
	Params     json.RawMessage `json:"params"`
}

// EncodeJob returns j as one line of JSON, for [DecodeJob] in another process.
func EncodeJob(j Job) ([]byte, error) {
	id := j.Record()
	return marshal(jobLine{id.Experiment, id.Version, id.Key, id.Seed, id.Params})
}

// DecodeJob returns the job that line describes. The error names the experiment
// if none of ds knows it, or if this program would give the cell another key.
func DecodeJob(line []byte, ds []Decoder) (Job, error) {
	var l jobLine
	if err := unmarshal(line, &l); err != nil {
		return nil, fmt.Errorf("lab: job %.80q: %w", line, err)
	}
	for _, d := range ds {
		if d.Experiment() == l.Experiment {
			return d.Decode(Record{Key: l.Key, Experiment: l.Experiment, Version: l.Version, Seed: l.Seed, Params: l.Params})
		}
	}
	return nil, fmt.Errorf("lab: job of %q: this program does not know that experiment", l.Experiment)
}

// Missing returns the jobs whose cells s does not hold, each cell once.
func (s *Store) Missing(jobs []Job) []Job {
	var out []Job
	seen := map[Key]bool{}
	for _, j := range jobs {
		key := j.Record().Key
		if _, err := j.Recall(s); err != nil && !seen[key] {
			out = append(out, j)
		}
		seen[key] = true
	}
	return out
}
