package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"coupling/lab/durable"
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

// String returns the result in a line.
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
// [*store.CellError], is that of [store.Job.Recall].
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

// OpenStore returns the store at dir, which is created when a cell is first computed. If dir is
// empty it is $COUPLING_STORE, else the nearest .coupling going up from the working directory, else
// a new .coupling beside the nearest go.mod or .git, else a new one here: one for a checkout.
// $COUPLING_RECALL is any (the default) or same; see [store.Store].
func OpenStore(dir string) (*store.Store, error) {
	if dir == "" {
		dir = os.Getenv("COUPLING_STORE")
	}
	if dir == "" {
		var err error
		if dir, err = findStore(); err != nil {
			return nil, err
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("lab: store: %w", err)
	}
	recall := os.Getenv("COUPLING_RECALL")
	if recall != "" && recall != "any" && recall != "same" {
		return nil, fmt.Errorf("lab: $COUPLING_RECALL %q: want any or same", recall)
	}
	return &store.Store{Dir: dir, SameCode: recall == "same"}, nil
}

func findStore() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("lab: store: %w", err)
	}
	for _, marks := range [][]string{{".coupling"}, {"go.mod", ".git"}} {
		dir, ok := durable.Nearest(wd, func(dir string) bool {
			return slices.ContainsFunc(marks, func(mark string) bool {
				_, err := os.Stat(filepath.Join(dir, mark))
				return err == nil
			})
		})
		if ok {
			return filepath.Join(dir, ".coupling"), nil
		}
	}
	return filepath.Join(wd, ".coupling"), nil
}
