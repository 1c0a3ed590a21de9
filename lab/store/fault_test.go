//go:build unix

package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"coupling/lab"
	"coupling/lab/must"
	"coupling/lab/store"
)

// withArtifact is an experiment of every part of a cell: a stream, scratch, an artifact.
func withArtifact() lab.Experiment[point, stats] { return killExperiment(func(*lab.Cell) {}) }

// sound fails unless every cell of the store is whole, and nothing is left of others.
func sound(t *testing.T, s *store.Store, want int) {
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
	for _, suffix := range []string{".lock", ".tmp"} {
		if left, _ := filepath.Glob(filepath.Join(s.Dir, "cells", "*", "*", "*", "*"+suffix)); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	}
}

// A disk that takes no more (here: no file beyond a limit) is said so, leaves what
// is finished whole, and once there is room the sweep goes on.
func TestFullDisk(t *testing.T) {
	s := testStore(t)
	e := lab.Experiment[point, point]{Name: "test/disk/full", Version: 1,
		Run: func(_ context.Context, c *lab.Cell, p point) (point, error) {
			path, err := c.Artifact("a")
			if err != nil {
				return p, err
			}
			return p, os.WriteFile(path, bytes.Repeat([]byte("x"), p.N<<20), 0o666)
		}}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var before syscall.Rlimit
	must.Do(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	small := before
	small.Cur = 5 << 20 // more than the log of this test has
	must.Do(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small))
	landed, failed := 0, 0
	for _, err := range lab.Sweep(t.Context(), s, e, 3, 5, points(10)) {
		var ce *store.CellError
		switch {
		case err == nil:
			landed++
		case !errors.As(err, &ce) || !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), s.Dir):
			t.Errorf("not clear: %v", err)
		default:
			failed++
		}
	}
	must.Do(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))
	if landed != 6 || failed != 4 {
		t.Errorf("%d landed, %d failed: want 6 and 4", landed, failed)
	}
	sound(t, s, landed)
	for _, err := range lab.Sweep(t.Context(), s, e, 3, 5, points(10)) {
		if err != nil {
			t.Error(err)
		}
	}
	sound(t, s, 10)
}

// A record that cannot be stored is an error that names it, and no result.
func TestRecordThatCannotBeStored(t *testing.T) {
	s, e := testStore(t), withArtifact()
	p := killGrid()[0]
	id := e.Jobs(5, p)[0].Record()
	if err := os.MkdirAll(filepath.Join(s.Paths(id).Record, "x"), 0o777); err != nil { // a folder in its place
		t.Fatal(err)
	}
	if _, err := lab.Do(t.Context(), s, e, 5, p); err == nil || !strings.Contains(err.Error(), s.Paths(id).Record) {
		t.Errorf("%v", err)
	}
}

// Lists follow links, as looking for one cell does; a pipe in the place of a record is an error,
// and a loop of links ends.
func TestLinksAndPipes(t *testing.T) {
	s, e := testStore(t), withArtifact()
	cells := filepath.Join(s.Dir, "cells")
	for _, p := range killGrid()[:3] {
		lab.Must(lab.Do(t.Context(), s, e, 5, p))
	}
	elsewhere := t.TempDir()
	for _, folder := range []string{cells, filepath.Join(cells, filepath.FromSlash(e.Name))} {
		to := filepath.Join(elsewhere, filepath.Base(folder))
		lab.Check(errors.Join(os.Rename(folder, to), os.Symlink(to, folder)))
		sound(t, s, 3)
	}
	first := s.Paths(e.Jobs(5, killGrid()[0])[0].Record()).Record
	lab.Check(errors.Join(os.Remove(first), syscall.Mkfifo(first, 0o666)))
	if _, err := lab.Do(t.Context(), s, e, 5, killGrid()[0]); err == nil || !strings.Contains(err.Error(), first) {
		t.Errorf("a pipe: %v", err)
	}
	lab.Check(errors.Join(os.Remove(first), os.Symlink(cells, filepath.Join(cells, "loop"))))
	var errs []error
	for _, err := range s.Records("") {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err == nil || !strings.Contains(err.Error(), "loop") {
		t.Errorf("a loop: %v", err)
	}
}

// A process that dies without a word leaves a failure all the same: that of a child, and our own,
// here by a goroutine's panic. Once the cell is computed it is none.
func TestDeath(t *testing.T) {
	s, e := testStore(t), withArtifact()
	id := e.Jobs(5, killGrid()[0])[0].Record()
	if dir := os.Getenv("TEST_DEATH_STORE"); dir != "" {
		s.Dir = dir
		e.Run = func(context.Context, *lab.Cell, point) (stats, error) {
			go panic("stray")
			select {}
		}
		lab.Must(lab.Do(t.Context(), s, e, 5, killGrid()[1]))
	}
	j := store.ExternalJob(id, func(context.Context, *store.Store) (bool, error) {
		return false, errors.New("exit status 3: out of memory")
	})
	if _, err := j.Try(t.Context(), s); err == nil {
		t.Error("no error")
	}
	if r, err := s.Failure(id); err != nil || r.Error != "exit status 3: out of memory" || r.Manifest.Host == "" {
		t.Errorf("%+v, %v", r, err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestDeath$")
	child.Env = append(os.Environ(), "TEST_DEATH_STORE="+s.Dir)
	if out, err := child.CombinedOutput(); err == nil || !strings.Contains(string(out), "stray") {
		t.Fatalf("%v\n%s", err, out)
	}
	failures := func() (all string) {
		for r, err := range s.Failures("") {
			all += fmt.Sprintf("%s %s: %s, %v; ", r.Params, r.Manifest.Host, r.Error, err)
		}
		return all
	}
	if all := failures(); strings.Count(all, "; ") != 2 || !strings.Contains(all, "died while it computed the cell") {
		t.Errorf("failures: %s", all)
	}
	var landed []point
	for r, err := range lab.SweepAsLanded(t.Context(), s, e, 1, 5, killGrid()[1:3]) {
		lab.Check(err)
		landed = append(landed, r.Params)
	}
	if landed[0] != killGrid()[2] {
		t.Errorf("%v: the cell in which a process died must come last", landed)
	}
	if all := failures(); strings.Count(all, "; ") != 1 {
		t.Errorf("failures once it is computed: %s", all)
	}
}

// Where files cannot be locked two processes compute a cell, and the store ends
// with one result and its artifact, whole.
func TestTwoOwners(t *testing.T) {
	s, e := testStore(t), withArtifact()
	p := killGrid()[0]
	id := e.Jobs(5, p)[0].Record()
	var began sync.WaitGroup
	began.Add(2)
	inner := e.Run
	e.Run = func(ctx context.Context, c *lab.Cell, p point) (stats, error) {
		_ = os.Remove(s.Paths(id).Lock) // as good as none
		began.Done()
		began.Wait()
		return inner(ctx, c, p)
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if _, err := lab.Do(t.Context(), s, e, 5, p); err != nil {
				t.Error(err)
			}
			time.Sleep(10 * time.Millisecond)
		})
	}
	wg.Wait()
	r := must.Get(lab.Recall(s, e, 5, p))
	f := must.Get(r.Open("sum.txt"))
	f.Close()
	for f := range s.Failures("") {
		t.Error(f.Error)
	}
	// the record, its artifacts, those of the other
	if left, _ := filepath.Glob(s.Paths(id).Base + ".*"); len(left) > 3 {
		t.Errorf("left: %q", left)
	}
}
