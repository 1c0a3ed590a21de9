package store

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"coupling/lab/durable"
)

// The lock of a cell is the file KEY.lock, locked by the system (flock) while the cell is computed.
// The system releases it when the process ends, in whatever way; a network file system has the lock
// on its server, which releases it when a machine is lost. The file holds the failure of the cell, in
// case that the process dies: exit, a panic of another goroutine, out of memory, a signal. A lock
// saves work; without it two processes store the same result of the same pure function.

// A cellLock is held until release.
type cellLock struct {
	paths   cellPaths
	attempt string
	file    *durable.Lock // nil where the file system has no locks
	stored  bool          // the lock file has become the record
}

// tryLock takes the lock of the cell id. The error is [ErrBusy] if another process holds it.
func (p cellPaths) tryLock(id Record) (*cellLock, error) {
	l := &cellLock{paths: p, attempt: rand.Text()}
	f, err := durable.TryLock(p.lock)
	switch {
	case errors.Is(err, durable.ErrLocked):
		return nil, ErrBusy
	case errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOLCK):
		return l, nil
	case err != nil:
		return nil, fmt.Errorf("lab: lock: %w", err)
	}
	l.file = f
	host, _ := os.Hostname()
	id.Manifest, id.Error = newManifest(), fmt.Sprintf("process %d on %s%s", os.Getpid(), host, died)
	_ = id.store(func(b []byte) error { return os.WriteFile(p.lock, b, 0o666) })
	return l, nil
}

// store writes the record of the cell, whole or not at all: the lock file becomes the record.
func (l *cellLock) store(record []byte) error {
	if l.file == nil {
		return durable.Write(l.paths.record, record)
	}
	err := l.file.Become(l.paths.record, record)
	l.stored = err == nil
	return err
}

// release removes the lock file and only then unlocks: afterwards it may be another process's.
func (l *cellLock) release() {
	if !l.stored {
		_ = os.Remove(l.paths.lock)
	}
	if l.file != nil {
		_ = l.file.Close()
	}
}

// died ends the failure in a lock file.
const died = " died while it computed the cell"

// holder names the process that computes the cell, if the lock file can be read.
func (p cellPaths) holder() string {
	var r Record
	b, err := os.ReadFile(p.lock)
	if err == nil && json.Unmarshal(b, &r) == nil && r.Error != "" {
		return strings.TrimSuffix(r.Error, died)
	}
	return "another process"
}

// isDead reports whether the lock file is what a process left that died while it computed the cell.
func (s *Store) isDead(p cellPaths) bool {
	r, err := s.read(p.lock)
	return err == nil && r.Error != "" && !p.busy()
}

func (p cellPaths) busy() bool {
	if _, err := os.Stat(p.lock); err != nil {
		return false
	}
	f, err := durable.TryLock(p.lock)
	if err == nil {
		_ = f.Close()
	}
	return errors.Is(err, durable.ErrLocked)
}
