package lab

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"coupling/lab/durable"
)

// The lock of a cell is the file KEY.lock, locked by the system (flock) while the
// cell is computed. The system lets go when the process ends, however it does, and
// a network file system asks its server, which lets go when a machine is lost.
//
// A lock saves work and guards no result. Where a file system has none, or only
// within a machine, two processes may compute one cell: both store the same
// result of the same pure function, by the atomic rename of a record whose
// artifacts are in a directory of the attempt's own.

// A cellLock is held until release.
type cellLock struct {
	paths   cellPaths
	attempt string
	file    io.Closer // nil where the file system has no locks
}

// tryLock takes the cell's lock. The error is [ErrBusy] if another has it.
func (p cellPaths) tryLock() (*cellLock, error) {
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
	_ = os.WriteFile(p.lock, fmt.Appendf(nil, "process %d on %s\n", os.Getpid(), host), 0o666) // for people
	return l, nil
}

// release lets go. The file goes first: after that it might be another's.
func (l *cellLock) release() {
	_ = os.Remove(l.paths.lock)
	if l.file != nil {
		_ = l.file.Close()
	}
}

// holder says who computes the cell, as far as the system lets that be read.
func (p cellPaths) holder() string {
	if b, err := os.ReadFile(p.lock); err == nil && len(b) > 0 {
		return strings.TrimSpace(string(b))
	}
	return "another process"
}

// busy reports whether a process computes the cell.
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
