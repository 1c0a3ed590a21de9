package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func lockPaths(t *testing.T) cellPaths {
	t.Helper()
	return shard{path: t.TempDir()}.paths(strings.Repeat("a", keyDigits))
}

func TestLockExcludes(t *testing.T) {
	p := lockPaths(t)
	var inside, total atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for turns := 0; turns < 5; time.Sleep(time.Millisecond) {
				l, err := p.tryLock()
				if errors.Is(err, ErrBusy) {
					continue
				} else if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 || !p.busy() {
					t.Error("two own the lock, or it looks free")
				}
				total.Add(1)
				time.Sleep(time.Millisecond)
				inside.Add(-1)
				l.release()
				turns++
			}
		})
	}
	wg.Wait()
	if rest, _ := os.ReadDir(p.dir); total.Load() != 80 || len(rest) != 0 || p.busy() {
		t.Errorf("%d turns, want 80; left: %v", total.Load(), rest)
	}
}

// The file that a killed process leaves is nobody's lock.
func TestLockFileOfTheDead(t *testing.T) {
	p := lockPaths(t)
	if err := os.WriteFile(p.lock, []byte("process 1 on elsewhere\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if p.busy() {
		t.Error("it looks busy")
	}
	l, err := p.tryLock()
	if err != nil || !strings.Contains(p.holder(), "process ") || strings.Contains(p.holder(), "elsewhere") {
		t.Fatalf("%q, %v", p.holder(), err)
	}
	l.release()
	if _, err := os.Stat(p.lock); !os.IsNotExist(err) {
		t.Errorf("left: %v", err)
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
	e.Run = func(ctx context.Context, c *Cell, p point) (stats, error) {
		_ = os.Remove(s.paths(id).lock) // as good as none
		began.Done()
		began.Wait()
		return inner(ctx, c, p)
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if _, err := Do(t.Context(), s, e, 5, p); err != nil {
				t.Error(err)
			}
			time.Sleep(10 * time.Millisecond)
		})
	}
	wg.Wait()
	r, err := Recall(s, e, 5, p)
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Open("sum.txt")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for f := range s.Failures("") {
		t.Error(f.Error)
	}
	if left, _ := filepath.Glob(s.paths(id).base + ".*"); len(left) > 3 { // the record, its artifacts, those of the other
		t.Errorf("left: %q", left)
	}
}
