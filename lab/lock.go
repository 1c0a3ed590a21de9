package lab

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// The lock of a cell is a file KEY.lock.N, created whole by link(2) or failing
// because it is there: atomic on local and network file systems alike. N is the
// generation. Nobody ever removes another's lock to take its place, since two
// who judged the same lock stale could then remove each other's; who finds
// generation N stale creates N+1, which only one can. After creating, an owner
// looks again: it owns the cell only if no higher generation exists and every
// lower one is the file that it judged stale; else it steps back.
//
// A lock is stale when its owner is known to be dead (same host, boot and process
// namespace, and no such process), or when its modification time, which the owner's
// heartbeat moves, has not changed for lockTiming.stale on the watcher's own
// clock; clocks of different machines are never compared.
//
// An owner that was paused and lost its lock finds its working directory
// renamed away and its lock outranked; it gives up and recalls what the new
// owner stores. Should it not notice in time, two processes store the same result
// of the same pure function, by atomic renames of a record and of artifacts that
// each has in a directory of its own: neither destroys the other's.

type lockTiming struct{ beat, stale, poll time.Duration }

func (t lockTiming) orDefault() lockTiming {
	if t == (lockTiming{}) {
		return lockTiming{beat: 5 * time.Second, stale: 90 * time.Second, poll: 50 * time.Millisecond}
	}
	return t
}

// errLost is the cause of a context whose lock was taken over.
var errLost = errors.New("lab: the lock was taken over")

// owner identifies a process, and within it one request for the lock.
type owner struct {
	Nonce string `json:"nonce"`
	Host  string `json:"host"`
	PID   int    `json:"pid"`
	Proc  proc   `json:"proc,omitzero"`
}

// proc tells whether the watcher may judge a process by its number.
type proc struct {
	Boot      string `json:"boot"`      // this boot of this machine
	Namespace string `json:"namespace"` // process numbers mean the same here
	Start     string `json:"start"`     // distinguishes a reused number
}

func self() owner {
	host, _ := os.Hostname() // for people only
	return owner{Nonce: rand.Text(), Host: host, PID: os.Getpid(), Proc: procOf(os.Getpid())}
}

// dead reports whether o is certainly gone.
func (o owner) dead() bool {
	here := self()
	if o.Proc.Start == "" || o.Host != here.Host || o.Proc.Boot != here.Proc.Boot || o.Proc.Namespace != here.Proc.Namespace {
		return false // its number means nothing here
	}
	return ended(o.PID, o.Proc.Start)
}

// A cellLock is held until release.
type cellLock struct {
	paths      cellPaths
	generation int
	owner      owner
	judged     map[int]string // nonce of the stale locks below
	stop       func()         // ends the heartbeat; see hold
}

// observed is what a watcher knows of the locks it has met, by nonce.
type observed map[string]observation

type observation struct {
	beat time.Time // the file's time: compared for change only
	at   time.Time // our clock when beat was first seen
}

// unchangedFor returns for how long, on our clock, a lock's time has not changed.
func (o observed) unchangedFor(nonce string, beat time.Time) time.Duration {
	if seen, ok := o[nonce]; ok && seen.beat.Equal(beat) {
		return time.Since(seen.at)
	}
	o[nonce] = observation{beat, time.Now()}
	return 0
}

// tryLock takes the cell's lock. The error is [ErrBusy] if another has it.
func (p cellPaths) tryLock(t lockTiming, seen observed) (*cellLock, error) {
	judged, err := p.staleLocks(t, seen)
	if err != nil {
		return nil, err
	}
	top := 0
	for g := range judged {
		top = max(top, g)
	}
	l := &cellLock{paths: p, generation: top + 1, owner: self(), judged: judged}
	if ok, err := l.create(); err != nil {
		return nil, err
	} else if !ok {
		return nil, busyError{}
	}
	if l.state() != held {
		if err := l.stepBack(); err != nil {
			return nil, err
		}
		return nil, busyError{}
	}
	return l, nil
}

// staleLocks returns the nonces of the cell's locks, all of which are stale. The
// error is [ErrBusy] if one is not.
func (p cellPaths) staleLocks(t lockTiming, seen observed) (map[int]string, error) {
	gens, err := p.numbered(lockSuffix)
	if err != nil {
		return nil, err
	}
	judged := map[int]string{}
	for _, g := range gens {
		o, beat, err := p.readLock(g)
		if errors.Is(err, fs.ErrNotExist) { // released meanwhile: look again later
			return nil, busyError{}
		} else if err != nil {
			return nil, fmt.Errorf("lab: lock: %w", err)
		}
		if !o.dead() && seen.unchangedFor(o.Nonce, beat) < t.stale {
			return nil, busyError{&o}
		}
		judged[g] = o.Nonce
	}
	return judged, nil
}

func (l *cellLock) file() string { return l.paths.lockFile(l.generation) }

// readLock opens the file before it asks for its time, which makes a network
// client ask the server. A lock without readable content belongs to nobody we
// could judge, so only its heartbeat counts.
func (p cellPaths) readLock(generation int) (o owner, beat time.Time, err error) {
	f, err := os.Open(p.lockFile(generation))
	if err != nil {
		return o, beat, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return o, beat, err
	}
	b := make([]byte, 4096)
	n, _ := f.Read(b)
	if unmarshal(b[:n], &o) != nil {
		o = owner{}
	}
	return o, fi.ModTime(), nil
}

// create makes the lock file and reports whether it is ours.
func (l *cellLock) create() (bool, error) {
	b, err := marshal(l.owner)
	if err != nil {
		return false, fmt.Errorf("lab: lock: %w", err)
	}
	tmp := filepath.Join(l.paths.dir, tmpPrefix+l.owner.Nonce)
	defer os.Remove(tmp)
	if err := writeNew(tmp, b); err != nil {
		return false, fmt.Errorf("lab: lock: %w", err)
	}
	err = disk.Link(tmp, l.file())
	if err != nil && !errors.Is(err, fs.ErrExist) { // no hard links here
		err = writeNew(l.file(), b)
	}
	if errors.Is(err, fs.ErrExist) { // perhaps our own: the answer to an earlier try was lost
		o, _, err := l.paths.readLock(l.generation)
		return err == nil && o.Nonce == l.owner.Nonce, nil
	} else if err != nil {
		return false, fmt.Errorf("lab: lock: %w", err)
	}
	return true, nil
}

// stepBack removes l's own file, if it is there: a file system may have said that
// it made one, and another owner's may be in its place.
func (l *cellLock) stepBack() error {
	o, _, err := l.paths.readLock(l.generation)
	if err == nil && o.Nonce == l.owner.Nonce {
		err = os.Remove(l.file())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("lab: lock: %w", err)
	}
	return nil
}

// writeNew writes a file that must not be there yet.
func writeNew(path string, b []byte) error {
	f, err := disk.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path)
	}
	return err
}

// lockState is the state of a lock, as far as the file system tells.
type lockState int

const (
	unclear lockState = iota // it could not be seen
	held
	lost
)

// state looks whether l still owns the cell.
func (l *cellLock) state() lockState {
	gens, err := l.paths.numbered(lockSuffix)
	if err != nil {
		return unclear
	}
	if len(gens) == 0 || gens[len(gens)-1] != l.generation {
		return lost
	}
	for _, g := range gens {
		o, _, err := l.paths.readLock(g)
		want := l.owner.Nonce
		if g != l.generation {
			want = l.judged[g]
		}
		switch {
		case errors.Is(err, fs.ErrNotExist) && g != l.generation: // a stale owner let go at last
		case err != nil:
			return unclear
		case o.Nonce != want:
			return lost
		}
	}
	return held
}

// hold keeps the lock fresh until release. The returned context ends with
// errLost when another process has taken over.
func (l *cellLock) hold(ctx context.Context, every time.Duration) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		before := held
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			now := time.Now()
			_ = os.Chtimes(l.file(), now, now) // if it fails for long, another takes over
			state := l.state()
			if state == lost && before == lost { // once may be another's step forward and back
				cancel(errLost)
				return
			}
			before = state
		}
	})
	l.stop = func() { close(done); wg.Wait(); cancel(nil) }
	return ctx
}

// release lets go: the stale locks below first, so that no moment exists in
// which one of them is on top.
func (l *cellLock) release() {
	l.stop()
	for _, g := range slices.Sorted(maps.Keys(l.judged)) {
		if o, _, err := l.paths.readLock(g); err == nil && o.Nonce == l.judged[g] {
			_ = os.Remove(l.paths.lockFile(g))
		}
	}
	_ = l.stepBack() // if it cannot, another finds the lock stale
}
