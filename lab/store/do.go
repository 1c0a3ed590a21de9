package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"coupling/lab/durable"
)

// A CellError names a cell that failed, with its parameters and the cause.
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

// CellError wraps err with the cell of r; a nil error stays nil.
func (r Record) CellError(err error) error {
	if err == nil {
		return nil
	}
	return &CellError{Experiment: r.Experiment, Key: r.Key, Seed: r.Seed, Params: r.Params, Err: err}
}

// Recall returns the cell if the store holds it. Otherwise the error, a [*CellError], is
// [ErrMissing], [ErrCorrupt] or [ErrFormat] with the file's name, or [ErrOtherCode].
func (j Job) Recall(s *Store) (Record, error) {
	r, err := j.recall(s)
	return r, j.fail(err)
}

// recall is Recall with plain errors. files are the cell's, if they are known.
func (j Job) recall(s *Store, files ...file) (Record, error) {
	if j.invalid != nil {
		return j.Record(), j.invalid
	}
	r, err := s.read(s.paths(j.Record()).record)
	if errors.Is(err, ErrMissing) {
		r, err = j.recallOther(s, files)
	}
	if err == nil {
		if err = j.check(r); err != nil {
			err = fmt.Errorf("lab: %s: %w", s.paths(r).record, err)
		}
	}
	return r, err
}

// recallOther returns the cell as other code computed it last, if that may be recalled, or as an
// older store holds it.
func (j Job) recallOther(s *Store, files []file) (Record, error) {
	others := s.variants(j.Record(), recordSuffix, files...)
	for _, r := range others {
		if !j.OtherCode(r) {
			return r, nil
		}
	}
	if len(others) == 0 {
		return Record{}, ErrMissing
	}
	j.sayUnknown()
	if s.SameCode || j.interactive {
		return Record{}, ErrOtherCode
	}
	return others[0], nil
}

// OtherCode reports whether a stored cell was computed by code that differs from j's.
func (j Job) OtherCode(r Record) bool { return r.Code != j.id.Code }

// canCompute reports whether a cell whose recall failed with err may be computed.
func canCompute(err error) bool {
	return errors.Is(err, ErrMissing) || errors.Is(err, ErrCorrupt) || errors.Is(err, ErrOtherCode)
}

// try recalls the cell, or computes and stores it; [ErrBusy] if another process computes it.
func (j Job) try(ctx context.Context, s *Store) (r Record, recalled bool, err error) {
	if ctx.Err() != nil {
		return j.Record(), false, context.Cause(ctx)
	}
	watch := watcher(ctx, j.Record())
	found := func() bool {
		r, err = j.recall(s)
		if err == nil {
			watch(Event{Kind: Recalled, OtherCode: j.OtherCode(r)})
		}
		return !canCompute(err)
	}
	if found() {
		return r, true, err
	}
	paths := s.paths(j.Record())
	if err := s.create(paths); err != nil {
		return j.Record(), false, err
	}
	if j.elsewhere != nil {
		if paths.busy() {
			return j.Record(), false, ErrBusy
		}
		recalled, err = j.elsewhere(ctx, s)
		if err != nil && !errors.Is(err, ErrBusy) && ctx.Err() == nil {
			err = j.failElsewhere(s, err, watch)
		}
		return j.Record(), recalled, err
	}
	lock, err := paths.tryLock(j.Record())
	if err != nil {
		return j.Record(), false, err
	}
	defer lock.release()
	if found() { // it was stored before we had the lock
		return r, true, err
	}
	watch(Event{Kind: Started})
	done, cause := j.compute(ctx, lock, watch)
	if cause == nil {
		cause = done.store(lock.store) // with its file the cell exists
	}
	switch {
	case cause == nil:
		_ = os.Remove(paths.failure) // what follows is tidying up
		_ = os.RemoveAll(paths.scratch)
		watch(Event{Kind: Stored, Seconds: done.Manifest.Seconds})
		return done, false, nil
	case ctx.Err() != nil:
		cause = context.Cause(ctx)
	case found(): // without file locks another process may have stored it
		return r, true, err
	default:
		cause = s.fail(done, cause, watch)
	}
	_ = os.RemoveAll(paths.files(lock.attempt)) // scratch stays for the next attempt
	return j.Record(), false, cause
}

// fail leaves a record of the failure, which it returns.
func (s *Store) fail(r Record, cause error, watch func(Event)) error {
	watch(Event{Kind: Failed, Err: cause})
	r.Value, r.Artifacts, r.Attempt, r.Error = nil, nil, "", cause.Error()
	write := func(b []byte) error { return durable.Write(s.paths(r).failure, b) }
	return errors.Join(cause, r.store(write))
}

// failElsewhere leaves a record of the failure if the other process did not live to do so.
func (j Job) failElsewhere(s *Store, cause error, watch func(Event)) error {
	if r, err := s.read(s.paths(j.Record()).failure); err == nil && strings.Contains(cause.Error(), r.Error) {
		watch(Event{Kind: Failed, Err: cause})
		return cause
	}
	died := j.Record()
	died.Manifest = newManifest()
	return s.fail(died, cause, watch)
}

// compute runs the cell, and checks that its value can be read back from its stored form.
func (j Job) compute(ctx context.Context, lock *cellLock, watch func(Event)) (Record, error) {
	r := j.Record()
	r.Manifest = newManifest()
	a := &Attempt{
		Key: r.Key, Seed: r.Seed, Scratch: lock.paths.scratch, Files: lock.paths.files(lock.attempt), Device: "cpu",
		Progress: func(done, total int) { watch(Event{Kind: Advanced, Done: done, Total: total}) },
	}
	value, err := j.call(ctx, a)
	r.Manifest.Seconds, r.Manifest.Device = time.Since(r.Manifest.Start).Seconds(), a.Device
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx) // a cut-short result may look like a whole one
	}
	if err == nil {
		r.Artifacts, err = a.collect()
	}
	if err == nil {
		r.Value, err = Marshal(value)
	}
	if err == nil {
		err = j.check(r)
	}
	if len(r.Artifacts) > 0 {
		r.Attempt = lock.attempt
	}
	return r, err
}

// call turns a panic or runtime.Goexit into an error, so that one bad cell does not end a sweep.
func (j Job) call(ctx context.Context, a *Attempt) (value any, err error) {
	if j.of.Run == nil {
		return nil, errors.New("the experiment's Run is nil")
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
		value, err = j.of.Run(ctx, a, j.value)
	}()
	<-done
	return value, err
}

// An Attempt is what a running experiment gets, and what it leaves.
type Attempt struct {
	Key       Key
	Seed      uint64
	Scratch   string   // the folder of checkpoints, which survives a killed, cancelled or failed attempt
	Files     string   // the folder of artifacts, dropped if the cell fails
	Artifacts []string // names of files in Files that the experiment promises
	Device    string   // that it opened, for the manifest; empty: the CPU
	Progress  func(done, total int)
}

// collect syncs and describes the artifacts of a finished cell. An artifact whose path was given
// out but that does not exist is an error: the cell may have lost its directory.
func (a *Attempt) collect() ([]Artifact, error) {
	if len(a.Artifacts) == 0 {
		return nil, nil
	}
	root := a.Files
	var out []Artifact
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("lab: artifact %s is not a regular file", file)
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		sum, size, err := durable.Digest(file)
		out = append(out, Artifact{filepath.ToSlash(rel), size, sum})
		return errors.Join(err, syncFile(file))
	})
	if err != nil {
		return nil, err
	}
	for _, name := range a.Artifacts {
		if !slices.ContainsFunc(out, func(a Artifact) bool { return a.Name == path.Clean(name) }) {
			return nil, fmt.Errorf("lab: artifact %s was asked for, but not written", name)
		}
	}
	return out, nil
}

func syncFile(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
