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
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), nil, 0o666); err != nil { // as a store has
		t.Fatal(err)
	}
	base := filepath.Join(dir, strings.Repeat("a", 32))
	return cellPaths{dir, base, base + ".json", base + ".failed.json"}
}

var quickTiming = lockTiming{beat: 5 * time.Millisecond, stale: 400 * time.Millisecond, poll: time.Millisecond} // stale only if the machine is busy for that long

// await waits for the lock.
func (s *Store) await(ctx context.Context, p cellPaths) (*cellLock, error) {
	for seen := (observed{}); ; time.Sleep(time.Millisecond) {
		l, err := p.tryLock(s.timing.orDefault(), seen)
		if !errors.Is(err, ErrBusy) || ctx.Err() != nil {
			return l, err
		}
	}
}

func put(t *testing.T, p cellPaths, generation int, o owner) {
	t.Helper()
	b, err := marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.lockFile(generation), b, 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestLockExcludes(t *testing.T) {
	p := lockPaths(t)
	s := &Store{Dir: p.dir, timing: quickTiming}
	var inside, total atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 5 {
				l, err := s.await(t.Context(), p)
				if err != nil {
					t.Error(err)
					return
				}
				l.hold(t.Context(), quickTiming.beat)
				if inside.Add(1) != 1 {
					t.Error("two own the lock")
				}
				total.Add(1)
				time.Sleep(time.Millisecond)
				inside.Add(-1)
				l.release()
			}
		})
	}
	wg.Wait()
	if total.Load() != 80 {
		t.Errorf("%d turns, want 80", total.Load())
	}
	if rest, _ := os.ReadDir(p.dir); len(rest) != 1 {
		t.Errorf("left: %v", rest)
	}
}

func TestDeadOwnerIsReplacedAtOnce(t *testing.T) {
	if procOf(os.Getpid()).Start == "" {
		t.Skip("no /proc here: a dead owner is found by its heartbeat")
	}
	p := lockPaths(t)
	s := &Store{Dir: p.dir} // 90 s without a heartbeat would be too long to wait for
	o := self()
	o.Proc.Start = "1" // a process of this machine that is gone
	put(t, p, 1, o)
	began := time.Now()
	l, err := s.await(t.Context(), p)
	if err != nil || l.generation != 2 || time.Since(began) > 10*time.Second {
		t.Fatalf("%+v after %v, %v", l, time.Since(began), err)
	}
	l.hold(t.Context(), time.Second)
	l.release()
	if rest, _ := os.ReadDir(p.dir); len(rest) != 1 {
		t.Errorf("left: %v", rest)
	}
}

func TestOwnerElsewhereIsJudgedByItsHeartbeat(t *testing.T) {
	p := lockPaths(t)
	s := &Store{Dir: p.dir, timing: quickTiming}
	there := owner{Nonce: "there", Host: "elsewhere", PID: 1, Proc: proc{Boot: "another", Start: "1"}}
	put(t, p, 1, there)
	for i := range 10 { // it lives
		now := time.Now().Add(-time.Hour + time.Duration(i)*time.Second) // by a clock that is wrong
		if err := os.Chtimes(p.lockFile(1), now, now); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), quickTiming.stale/3)
		if l, err := s.await(ctx, p); l != nil || err == nil {
			t.Fatal("took over from a living owner")
		}
		cancel()
	}
	l, err := s.await(t.Context(), p) // it has stopped
	if err != nil || l.generation != 2 {
		t.Fatal(err)
	}
	l.hold(t.Context(), time.Second)
	l.release()
}

func TestOwnerThatWasPausedLosesAndKnows(t *testing.T) {
	p := lockPaths(t)
	s := &Store{Dir: p.dir, timing: quickTiming}
	l, err := s.await(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	put(t, p, 2, owner{Nonce: "successor"})
	ctx := l.hold(t.Context(), quickTiming.beat)
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), errLost) {
		t.Errorf("cause %v", context.Cause(ctx))
	}
	if err := s.commit(Record{}, l); !errors.Is(err, errLost) {
		t.Errorf("commit without the lock: %v", err)
	}
	l.release()
	if o, _, err := p.readLock(2); err != nil || o.Nonce != "successor" {
		t.Errorf("the successor's lock is gone: %v", err)
	}
}

func TestEmptyLockIsJudgedByItsHeartbeat(t *testing.T) {
	p := lockPaths(t)
	s := &Store{Dir: p.dir, timing: quickTiming}
	if err := os.WriteFile(p.lockFile(1), nil, 0o666); err != nil { // its writer was killed
		t.Fatal(err)
	}
	l, err := s.await(t.Context(), p)
	if err != nil || l.generation != 2 {
		t.Fatalf("%+v %v", l, err)
	}
	l.hold(t.Context(), time.Second)
	l.release()
}
