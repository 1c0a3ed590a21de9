package lab

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// faulty is a file system with the faults that networks and quotas have.
type faulty struct {
	system
	delay  time.Duration // before every operation, up to
	room   *atomic.Int64 // bytes left; nil: no limit
	rename func(from, to string, do func() error) error
	link   func(do func() error) error
	list   func() error
}

func (f faulty) wait() {
	if f.delay > 0 {
		time.Sleep(time.Duration(rand.Int64N(int64(f.delay))))
	}
}

func (f faulty) MkdirAll(path string, perm fs.FileMode) error {
	f.wait()
	return f.system.MkdirAll(path, perm)
}

func (f faulty) Create(path string) (diskFile, error) {
	f.wait()
	file, err := f.system.Create(path)
	if err != nil || f.room == nil {
		return file, err
	}
	return &smallFile{file, f.room}, nil
}

func (f faulty) Rename(from, to string) error {
	f.wait()
	do := func() error { return f.system.Rename(from, to) }
	if f.rename != nil {
		return f.rename(from, to, do)
	}
	return do()
}

func (f faulty) Link(from, to string) error {
	f.wait()
	do := func() error { return f.system.Link(from, to) }
	if f.link != nil {
		return f.link(do)
	}
	return do()
}

func (f faulty) ReadDir(path string) ([]fs.DirEntry, error) {
	f.wait()
	if f.list != nil {
		if err := f.list(); err != nil {
			return nil, err
		}
	}
	return f.system.ReadDir(path)
}

// smallFile is a file on a disk that fills up: what fits is written, as a disk does.
type smallFile struct {
	diskFile
	room *atomic.Int64
}

func (f *smallFile) Write(b []byte) (int, error) {
	if left := f.room.Add(-int64(len(b))); left < 0 {
		n, err := f.diskFile.Write(b[:max(0, left+int64(len(b)))])
		return n, errors.Join(err, &fs.PathError{Op: "write", Path: "file", Err: syscall.ENOSPC})
	}
	return f.diskFile.Write(b)
}

// withDisk has the store use f until the test's end.
func withDisk(t *testing.T, f files) {
	t.Helper()
	disk = f
	t.Cleanup(func() { disk = system{} })
}

// withArtifact is an experiment of every part of a cell: a stream, scratch, an artifact.
func withArtifact() Experiment[point, stats] { return killExperiment(func(*Cell) {}) }

// sound fails unless every cell of the store is whole, and nothing is left of others.
func sound(t *testing.T, s *Store, want int) {
	t.Helper()
	n := 0
	for r, err := range s.Records("") {
		if err != nil {
			t.Fatalf("a torn record: %v", err)
		}
		if err := s.Verify(r); err != nil {
			t.Error(err)
		}
		n++
	}
	if n != want {
		t.Errorf("%d cells, want %d", n, want)
	}
	if locks, _ := filepath.Glob(filepath.Join(s.Dir, "cells", "*", "*", "*", "*.lock.*")); len(locks) > 0 {
		t.Errorf("locks are left: %q", locks)
	}
}

// A file system so slow that heartbeats come late, locks look stale and owners
// are replaced while they live: two processes (here, two stores) end with the
// same cells, whole.
func TestSlowDisk(t *testing.T) {
	quiet := testStore(t)
	e := withArtifact()
	for _, err := range Sweep(t.Context(), quiet, e, 4, 5, killGrid()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	withDisk(t, faulty{delay: 30 * time.Millisecond})
	a := testStore(t)
	a.timing = lockTiming{beat: 5 * time.Millisecond, stale: 60 * time.Millisecond, poll: time.Millisecond}
	b := &Store{Dir: a.Dir, timing: a.timing}
	var wg sync.WaitGroup
	for _, s := range []*Store{a, b} {
		wg.Go(func() {
			for _, err := range Sweep(t.Context(), s, e, 6, 5, killGrid()) {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	sound(t, a, killCells)
	want, err1 := RecallAll(quiet, e, 5, killGrid())
	got, err2 := RecallAll(a, e, 5, killGrid())
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if want[i].Value.Mean != got[i].Value.Mean || want[i].Artifacts[0] != got[i].Artifacts[0] {
			t.Errorf("cell %d: %v, want %v", i, got[i].Value, want[i].Value)
		}
	}
}

// A full disk is said so, leaves what is finished whole, and once there is room the
// sweep goes on.
func TestFullDisk(t *testing.T) {
	s, e := testStore(t), withArtifact()
	room := &atomic.Int64{}
	room.Store(8_000) // for some of the cells
	withDisk(t, faulty{room: room})
	landed, failed := 0, 0
	for _, err := range Sweep(t.Context(), s, e, 3, 5, killGrid()) {
		var ce *CellError
		switch {
		case err == nil:
			landed++
		case !errors.As(err, &ce) || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "no space left on device"):
			t.Errorf("not clear: %v", err)
		default:
			failed++
		}
	}
	if landed == 0 || failed == 0 {
		t.Errorf("%d landed, %d failed: the disk was not filled midway", landed, failed)
	}
	sound(t, s, landed)
	room.Store(1 << 30)
	for _, err := range Sweep(t.Context(), s, e, 3, 5, killGrid()) {
		if err != nil {
			t.Error(err)
		}
	}
	sound(t, s, killCells)
}

// A rename whose answer was lost is seen to have been done; one that was
// answered and not done is tried again; one that never comes true is refused, and
// so is a file that is lost on the way. No request returns a result that is
// not in the store.
func TestLostRename(t *testing.T) {
	lost := errors.New("server not responding")
	for name, c := range map[string]struct {
		rename func(n int64, do func() error, from string) error
		err    string // "": survived
	}{
		"the answer":     {func(_ int64, do func() error, _ string) error { return errors.Join(do(), lost) }, ""},
		"the deed, once": {func(n int64, do func() error, _ string) error { return onlyIf(n%2 == 0, do) }, ""},
		"the deed, ever": {func(int64, func() error, string) error { return nil }, "says that it is done, and the file is where it was"},
		"the file":       {func(_ int64, _ func() error, from string) error { return os.RemoveAll(from) }, "the file system has lost the file"},
		"the server":     {func(int64, func() error, string) error { return lost }, "server not responding"},
		"the server, now": {func(n int64, do func() error, _ string) error {
			return errors.Join(onlyIf(n > 4, do), errIf(n <= 4, lost))
		}, "server not responding"},
	} {
		s, e := testStore(t), withArtifact()
		var n atomic.Int64
		withDisk(t, faulty{rename: func(from, _ string, do func() error) error { return c.rename(n.Add(1), do, from) }})
		landed := 0
		for _, p := range killGrid()[:4] {
			_, err := Do(t.Context(), s, e, 5, p)
			if err == nil {
				landed++
			}
			if c.err == "" && err != nil || c.err != "" && err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if c.err == "" && landed != 4 || c.err != "" && landed == 4 {
			t.Errorf("%s is lost: %d of 4 cells landed", name, landed)
		}
		disk = system{}
		sound(t, s, landed)
		for _, p := range killGrid()[:4] { // on a file system that works again
			if _, err := Do(t.Context(), s, e, 5, p); err != nil {
				t.Errorf("%s, afterwards: %v", name, err)
			}
		}
		sound(t, s, 4)
	}
}

func onlyIf(ok bool, do func() error) error {
	if ok {
		return do()
	}
	return nil
}

func errIf(bad bool, err error) error {
	if bad {
		return err
	}
	return nil
}

// A lock whose link was answered wrongly is nobody's, or ours: never two owners'.
func TestLostLink(t *testing.T) {
	for name, link := range map[string]func(n int64, do func() error) error{
		"the answer": func(_ int64, do func() error) error { return errors.Join(do(), fs.ErrExist) },
		"the deed":   func(n int64, do func() error) error { return onlyIf(n%3 == 0, do) },
	} {
		s := testStore(t)
		s.timing = quickTiming
		var n, inside atomic.Int64
		withDisk(t, faulty{link: func(do func() error) error { return link(n.Add(1), do) }})
		e := Experiment[point, stats]{Name: "test/link", Version: 1, Run: func(context.Context, *Cell, point) (stats, error) {
			if inside.Add(1) != 1 {
				t.Errorf("%s: two own the cell", name)
			}
			time.Sleep(5 * time.Millisecond)
			inside.Add(-1)
			return stats{}, nil
		}}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, err := Do(t.Context(), s, e, 1, point{}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		wg.Wait()
		disk = system{}
		sound(t, s, 1)
	}
}

// A directory that cannot be listed is an error that names it, not a cell that
// looks free.
func TestDirectoryThatCannotBeRead(t *testing.T) {
	s, e := testStore(t), withArtifact()
	withDisk(t, faulty{list: func() error { return &fs.PathError{Op: "readdirent", Path: "cells", Err: syscall.EIO} }})
	if _, err := Do(t.Context(), s, e, 5, killGrid()[0]); !errors.Is(err, syscall.EIO) {
		t.Errorf("%v", err)
	}
	disk = system{}
	sound(t, s, 0)
}
