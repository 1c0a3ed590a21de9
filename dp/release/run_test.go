package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coupling/lab/must"
)

// total is a training whose state is the sum of what it released.
type total struct {
	Sum  float64
	Step int64
}

func (s *total) Save(path string) error {
	return os.WriteFile(path, fmt.Appendf(nil, "%v %d", s.Sum, s.Step), 0o666)
}

func (s *total) Load(path string) error {
	b, err := os.ReadFile(path)
	if err == nil {
		_, err = fmt.Sscan(string(b), &s.Sum, &s.Step)
	}
	return err
}

// summing is a run of so many steps that is stopped by an error after stop of them.
func summing(t *testing.T, dir string, steps, stop int,
	change func(*Run, *Loop)) (sum float64, played []int, err error) {
	var s total
	r := Run{
		Key:      SeededKey(3),
		Releases: steps,
		Dir:      dir,
		Settings: "sum",
		Records:  func(w io.Writer) error { _, err := w.Write([]byte("ab")); return err },
	}
	l := Loop{Steps: steps, State: &s, Done: &s.Step, Every: 3}
	l.Step = func(k int) error {
		if k == stop {
			return errStop
		}
		played = append(played, k)
		v, err := r.Release("sum", k, []float64{1}, 2, 1)
		if err == nil {
			s.Sum += v[0]
		}
		return err
	}
	if change != nil {
		change(&r, &l)
	}
	if err := r.Open(); err != nil {
		return 0, nil, err
	}
	defer func() {
		must.Do(r.Close())
	}()
	err = r.Loop(t.Context(), l)
	return s.Sum, played, err
}

var errStop = errors.New("stopped")

// A run that was stopped between checkpoints ends as one that never was, spends each step once, and
// with no State plays all of them again.
func TestRunGoesOn(t *testing.T) {
	want, _ := must.Get2(summing(t, "", 7, -1, nil))
	for name, change := range map[string]func(*Run, *Loop){"checkpoint": nil,
		"none": func(_ *Run, l *Loop) { l.State, l.Done = nil, nil }} {
		dir := filepath.Join(t.TempDir(), "new")
		if _, _, err := summing(t, dir, 7, 5, change); !errors.Is(err, errStop) {
			t.Fatal(err)
		}
		got, played, err := summing(t, dir, 7, -1, change)
		if first := map[string]int{"checkpoint": 3, "none": 0}[name]; err != nil || got != want || played[0] != first {
			t.Errorf("%s: sum %v, want %v; played %v: %v", name, got, want, played, err)
		}
		b, err := os.ReadFile(filepath.Join(dir, "ledger"))
		if n := strings.Count(string(b), "\nstep "); err != nil || n != 7 {
			t.Errorf("%s: %d releases in the ledger, %v", name, n, err)
		}
	}
}

// A run that ends by its context saves first.
func TestRunIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	var s total
	r := Run{Key: SeededKey(3), Releases: 9, Dir: dir, Records: func(io.Writer) error { return nil }}
	must.Do(r.Open())
	ctx, stop := context.WithCancel(t.Context())
	err := r.Loop(ctx, Loop{Steps: 9, State: &s, Done: &s.Step, Step: func(k int) error {
		if k == 4 {
			stop()
		}
		_, err := r.Release("x", k, nil, 1, 1)
		return err
	}})
	var again total
	if err2 := errors.Join(again.Load(filepath.Join(dir, "checkpoint")), r.Close()); !errors.Is(err,
		context.Canceled) || err2 != nil || again.Step != 5 {
		t.Errorf("%v, saved step %d, %v", err, again.Step, err2)
	}
}

// Other runs are refused in the folder of one, and so are releases that no event accounts for.
func TestRunRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := summing(t, dir, 6, -1, nil); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Run, *Loop){
		"key":      func(r *Run, _ *Loop) { r.Key = SeededKey(4) },
		"settings": func(r *Run, _ *Loop) { r.Settings = "mean" },
		"records": func(r *Run, _ *Loop) {
			r.Records = func(w io.Writer) error { _, err := w.Write([]byte("ac")); return err }
		},
		"shorter": func(r *Run, l *Loop) { r.Releases, l.Steps = 5, 5 },
		"steps":   func(_ *Run, l *Loop) { l.Steps = 5 },
		"more":    func(_ *Run, l *Loop) { l.Steps = 7 },
	} {
		if _, _, err := summing(t, dir, 6, -1, change); !errors.Is(err, ErrLedger) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "checkpoint")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	other := func(r *Run, l *Loop) {
		l.Step = func(k int) error { _, err := r.Release("sum", k, []float64{1.5}, 2, 1); return err }
	}
	if _, _, err := summing(t, dir, 6, -1, other); !errors.Is(err, ErrLedger) {
		t.Errorf("another release in the place of one: %v", err)
	}
	if _, _, err := summing(t, dir, 8, -1, nil); err != nil {
		t.Errorf("a longer run: %v", err)
	}
}

// A release is in the ledger before there is any noise; with the same values it is the same again,
// with others the noise is another.
func TestReleaseIsSpentFirst(t *testing.T) {
	dir := t.TempDir()
	open := func(releases int) *Run {
		r := &Run{Key: SeededKey(5), Releases: releases, Dir: dir, Records: func(io.Writer) error { return nil }}
		must.Do(r.Open())
		return r
	}
	r := open(2)
	_ = r.ledger.Close() // the disk fails
	if v, err := r.Release("x", 0, []float64{1, 2}, 1, 1); err == nil || v != nil {
		t.Errorf("released %v without a line in the ledger: %v", v, err)
	}
	r = open(2)
	one, err := r.Release("x", 0, []float64{1, 2}, 1, 1)
	must.Do(errors.Join(err, r.Close()))
	r = open(2)
	two, err := r.Release("x", 0, []float64{1, 2}, 1, 1)
	if err != nil || !slices.Equal(one, two) {
		t.Errorf("played again: %v and %v, %v", one, two, err)
	}
	exact, err := r.Release("x", 1, []float64{1, 2}, 0, 1)
	if err := errors.Join(err, r.Close()); err != nil || !slices.Equal(exact, []float64{1, 2}) {
		t.Errorf("without noise: %v, %v", exact, err)
	}
	free := Run{Key: SeededKey(5), Releases: 2}
	a, errA := free.Release("x", 0, []float64{.5, 0, 0}, 1, 1)
	b, errB := free.Release("x", 0, []float64{.25, 0, 0}, 1, 1)
	if err := errors.Join(errA, errB); err != nil || a[1] == b[1] || a[2] == b[2] {
		t.Errorf("two sums with the same noise: %v and %v, %v", a, b, err)
	}
}
