package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"
)

// A CellError says which cell failed, with its parameters, and why.
type CellError struct {
	Experiment string
	Key        Key
	Seed       uint64
	Params     json.RawMessage
	Err        error
}

func (e *CellError) Error() string {
	return fmt.Sprintf("%s %s seed %d %s: %v", e.Experiment, e.Key.Short(), e.Seed, e.Params, e.Err)
}

// Unwrap returns the cause.
func (e *CellError) Unwrap() error { return e.Err }

// Recall returns the cell at (seed, p) if the store holds it. Otherwise the
// error is [ErrMissing], or [ErrCorrupt] with the file's name.
func Recall[P, R any](s *Store, e Experiment[P, R], seed uint64, p P) (Result[P, R], error) {
	id, err := e.identify(seed, p)
	if err != nil {
		return Result[P, R]{Params: p}, err
	}
	return recall[P, R](s, id, p)
}

func recall[P, R any](s *Store, id Record, p P) (Result[P, R], error) {
	none := Result[P, R]{Key: id.Key, Seed: id.Seed, Params: p}
	r, err := s.read(s.paths(id).record)
	if err != nil {
		return none, err
	}
	out, err := typed[P, R](s, r)
	if err != nil {
		return none, fmt.Errorf("lab: %s: %w", s.paths(id).record, err)
	}
	out.Recalled = true
	return out, nil
}

// RecallAll returns the cells at ps in their order. Its error names the first
// that is missing; figures use it to draw from a finished sweep.
func RecallAll[P, R any](s *Store, e Experiment[P, R], seed uint64, ps []P) ([]Result[P, R], error) {
	out := make([]Result[P, R], len(ps))
	for i, p := range ps {
		var err error
		if out[i], err = Recall(s, e, seed, p); err != nil {
			return nil, cellError(e.Name, out[i].Key, seed, p, err)
		}
	}
	return out, nil
}

// Do recalls the cell at (seed, p), or computes and stores it. If another
// process is at work on the same cell, Do waits for it. Errors are of type
// [*CellError]. A failed cell leaves a record of its failure, which is never
// recalled; a cancelled one leaves nothing but its [Cell.Scratch].
func Do[P, R any](ctx context.Context, s *Store, e Experiment[P, R], seed uint64, p P) (Result[P, R], error) {
	id, err := e.identify(seed, p)
	out := Result[P, R]{Key: id.Key, Seed: seed, Params: p}
	for err == nil {
		out, err = attempt(ctx, s, e, id, p)
		if !errors.Is(err, errLost) || ctx.Err() != nil {
			break
		}
		err = nil // another process took over: recall what it stores
	}
	if err != nil {
		return out, cellError(e.Name, id.Key, seed, p, err)
	}
	return out, nil
}

func cellError(name string, key Key, seed uint64, p any, err error) error {
	params, _ := marshal(p) // identify has marshalled it, or err says that it cannot
	return &CellError{Experiment: name, Key: key, Seed: seed, Params: params, Err: err}
}

// attempt is Do without taking over from a lost lock.
func attempt[P, R any](ctx context.Context, s *Store, e Experiment[P, R], id Record, p P) (Result[P, R], error) {
	watch := watcher(ctx, id)
	paths := s.paths(id)
	var out Result[P, R]
	var stored error
	finished := func() bool {
		out, stored = recall[P, R](s, id, p)
		return stored == nil || !errors.Is(stored, ErrMissing) && !errors.Is(stored, ErrCorrupt)
	}
	lock, err := s.lock(ctx, paths, finished, func(o owner) {
		watch(Event{Kind: Waiting, Note: fmt.Sprintf("process %d on %s", o.PID, o.Host)})
	})
	if err != nil {
		return out, err
	}
	if lock != nil {
		ctx = lock.hold(ctx, s.timing.orDefault().beat)
		defer lock.release()
	}
	if lock == nil || finished() { // it landed before our lock, or between a look and our lock
		if stored == nil {
			watch(Event{Kind: Recalled})
		}
		return out, stored
	}
	watch(Event{Kind: Started})
	rec, out, err := compute(ctx, e, id, p, lock, watch)
	if err == nil {
		err = s.commit(rec, lock)
	}
	switch {
	case err == nil:
		out.dir = paths.files(rec.Attempt)
		watch(Event{Kind: Stored, Seconds: rec.Manifest.Seconds})
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, errLost) || lock.standing() == lost: // what it met is not its own failure
		err = errLost
	default:
		watch(Event{Kind: Failed, Err: err})
		err = errors.Join(err, s.fail(rec, err, lock))
	}
	return out, err
}

// compute runs the cell in its working directory. The value that it returns has
// been through the form in which it is stored, so that a computed result and a
// recalled one are the same.
func compute[P, R any](ctx context.Context, e Experiment[P, R], id Record, p P, lock *cellLock, watch func(Event)) (Record, Result[P, R], error) {
	out := Result[P, R]{Key: id.Key, Seed: id.Seed, Params: p}
	part, err := lock.paths.adoptPart(lock.generation)
	if err != nil {
		return id, out, err
	}
	id.Manifest = newManifest()
	cell := &Cell{Key: id.Key, Seed: id.Seed, part: part, progress: func(done, total int) {
		watch(Event{Kind: Advanced, Done: done, Total: total})
	}}
	value, err := run(ctx, e, cell, p)
	id.Manifest.Seconds = time.Since(id.Manifest.Start).Seconds()
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx) // a cut-short result may look like a whole one
	}
	if err == nil {
		id.Artifacts, err = cell.collect()
	}
	if err == nil {
		id.Value, err = marshal(value)
	}
	if err == nil {
		err = errors.Join(unmarshal(id.Value, &out.Value), unmarshal(id.Params, &out.Params))
	}
	if len(id.Artifacts) > 0 {
		id.Attempt = lock.owner.Nonce
	}
	out.Manifest, out.Artifacts = id.Manifest, id.Artifacts
	return id, out, err
}

// run turns a panic or the end of the goroutine into an error, so that one bad
// cell does not end a sweep.
func run[P, R any](ctx context.Context, e Experiment[P, R], c *Cell, p P) (r R, err error) {
	if e.Run == nil {
		return r, errors.New("the experiment's Run is nil")
	}
	err = errors.New("the cell ended its goroutine")
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if x := recover(); x != nil {
				err = fmt.Errorf("panic: %v\n%s", x, debug.Stack())
			}
		}()
		r, err = e.Run(ctx, c, p)
	}()
	<-done
	return r, err
}

// commit makes the cell finished: artifacts into a directory of this attempt's
// own, then the record, whose appearance is the moment at which the cell exists.
func (s *Store) commit(r Record, lock *cellLock) error {
	if lock.standing() == lost {
		return errLost
	}
	p, part := lock.paths, lock.paths.part(lock.generation)
	if len(r.Artifacts) > 0 {
		if err := move(filepath.Join(part, "artifacts"), p.files(r.Attempt)); err != nil {
			return fmt.Errorf("lab: artifacts were not stored: %w", err)
		}
	}
	if err := s.write(p.record, r); err != nil {
		return err
	}
	_ = os.Remove(p.failure) // the cell exists: what follows is tidying up
	_ = os.RemoveAll(part)
	return nil
}

// fail leaves a record of the failure. Scratch stays for the next attempt.
func (s *Store) fail(r Record, cause error, lock *cellLock) error {
	part := lock.paths.part(lock.generation)
	_ = os.RemoveAll(filepath.Join(part, "artifacts"))
	_ = os.Remove(part) // unless it has scratch
	r.Value, r.Artifacts, r.Attempt, r.Error = nil, nil, "", cause.Error()
	return s.write(lock.paths.failure, r)
}
