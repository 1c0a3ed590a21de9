package store

import (
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"coupling/lab/must"
)

func lockPaths(t *testing.T) cellPaths {
	return shard{dir: t.TempDir()}.paths(strings.Repeat("a", keyDigits))
}

func TestLockExcludes(t *testing.T) {
	p := lockPaths(t)
	var inside, total atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for turns := 0; turns < 5; time.Sleep(time.Millisecond) {
				l, err := p.tryLock(Record{Params: []byte("{}")})
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
	must.Do(os.WriteFile(p.lock, []byte("process 1 on elsewhere\n"), 0o666))
	if p.busy() {
		t.Error("it looks busy")
	}
	l, err := p.tryLock(Record{Params: []byte("{}")})
	if err != nil || !strings.Contains(p.holder(), "process ") || strings.Contains(p.holder(), "elsewhere") {
		t.Fatalf("%q, %v", p.holder(), err)
	}
	l.release()
	if _, err := os.Stat(p.lock); !os.IsNotExist(err) {
		t.Errorf("left: %v", err)
	}
}
