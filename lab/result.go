package lab

import (
	"context"
	"errors"
	"fmt"
	"os"

	"coupling/lab/store"
)

// A Result is a finished cell with its types.
type Result[P, R any] struct {
	Key       store.Key
	Seed      uint64
	Params    P
	Value     R
	Artifacts []store.Artifact
	Manifest  store.Manifest
	Recalled  bool // found in the store, not computed by this call
	OtherCode bool // recalled, but computed by code that differs from this program's

	dir string // where the artifacts are
}

// Open opens the artifact called name after checking its checksum.
func (r Result[P, R]) Open(name string) (*os.File, error) {
	return store.OpenArtifact(r.dir, r.Artifacts, name)
}

// Row returns the result as a row, as [store.Record.Flatten] does.
func (r Result[P, R]) Row() (store.Row, error) {
	params, err := store.Marshal(r.Params)
	value, errValue := store.Marshal(r.Value)
	if err := errors.Join(err, errValue); err != nil {
		return nil, fmt.Errorf("lab: cell %s: %w", r.Key, err)
	}
	return store.Record{Key: r.Key, Seed: r.Seed, Params: params, Value: value, Manifest: r.Manifest}.Flatten()
}

// String is the result in a line.
func (r Result[P, R]) String() string {
	return fmt.Sprintf("%s, seed %d, %+v: %+v", r.Key.Short(), r.Seed, r.Params, r.Value)
}

// typed gives the outcome of a job its types.
func typed[P, R any](s *store.Store, l store.Landed) (Result[P, R], error) {
	id, r := l.Job.Record(), l.Record
	out := Result[P, R]{Key: id.Key, Seed: id.Seed, Params: l.Job.Params().(P)}
	if l.Err != nil {
		return out, l.Err
	}
	out.Artifacts, out.Manifest, out.dir = r.Artifacts, r.Manifest, s.Files(r)
	out.Recalled, out.OtherCode = l.Recalled, l.Recalled && l.Job.OtherCode(r)
	return out, r.Decode(&out.Params, &out.Value)
}

// Recall returns the cell at (seed, p) if the store holds it. Otherwise the error, a
// [*store.CellError], is [store.ErrMissing], [store.ErrCorrupt] or [store.ErrFormat] with the file's
// name, or [store.ErrOtherCode].
func Recall[P, R any](s *store.Store, e Experiment[P, R], seed uint64, p P) (Result[P, R], error) {
	j, err := e.Decoder().Job(seed, p)
	if err != nil {
		return Result[P, R]{Params: p}, err
	}
	r, err := j.Recall(s)
	return typed[P, R](s, store.Landed{Job: j, Record: r, Recalled: true, Err: err})
}

// RecallAll returns the cells at ps in their order. Its error names the first
// that is missing; figures use it to draw from a finished sweep.
func RecallAll[P, R any](s *store.Store, e Experiment[P, R], seed uint64, ps []P) ([]Result[P, R], error) {
	out := make([]Result[P, R], len(ps))
	for i, p := range ps {
		var err error
		if out[i], err = Recall(s, e, seed, p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Do recalls the cell at (seed, p), or computes and stores it. If another process computes the same
// cell, Do waits for it. Errors are of type [*store.CellError]. A failed cell leaves a record of its
// failure, which is never recalled; a cancelled cell leaves only its [Cell.Scratch].
func Do[P, R any](ctx context.Context, s *store.Store, e Experiment[P, R], seed uint64, p P) (Result[P, R], error) {
	for r, err := range SweepAsLanded(ctx, s, e, 1, seed, []P{p}) {
		return r, err
	}
	panic("lab: a sweep of one cell yielded none")
}
