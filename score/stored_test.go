package score

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"coupling/lab/must"
	"coupling/lab/nn/train"

	"gonum.org/v1/gonum/mat"
)

// until cancels a context after so many steps.
func until(t *testing.T, done int) (context.Context, func(Progress)) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	if done == 0 {
		cancel()
	}
	return ctx, func(p Progress) {
		if p.Done == done {
			cancel()
		}
	}
}

// killed returns the file as it is when a process dies after `done` steps: what was stored on the
// way, without the store that a cancelled run still makes.
func killed(t *testing.T, path string, done int, run func(ctx context.Context, trace func(Progress)) error) {
	t.Helper()
	ctx, stop := until(t, done)
	var last []byte
	err := run(ctx, func(p Progress) {
		last, _ = os.ReadFile(path) // stored before this step
		stop(p)
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped after %d steps: %v", done, err)
	}
	if last == nil {
		_ = os.Remove(path)
	} else if err := os.WriteFile(path, last, 0o666); err != nil {
		t.Fatal(err)
	}
}

// A run that was killed and is begun again from its beginning by another process, on another number
// of processors, gives the same bits, and is not the longer for it.
func TestStoredLangevin(t *testing.T) {
	f := must.Get(NewGaussian(nil, covariance(seeded(6), 3, .3)))
	x := normals(seeded(7), 150, 3)
	start := func() *Chain { return Start(seeded(8), x) }
	l := Langevin{Levels: []float64{1, .5, .1}, Steps: 7, Step: .004, Denoise: true}
	whole := start()
	must.Do(l.Run(t.Context(), f, whole))
	l.Path, l.Every = filepath.Join(t.TempDir(), "chains.ckpt"), 3
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for cut := 1; cut < l.Total(); cut += 4 {
		killed(t, l.Path, cut, func(ctx context.Context, trace func(Progress)) error {
			l := l
			l.Trace = trace
			return l.Run(ctx, f, start())
		})
		again, steps := start(), 0
		going := l
		going.Trace = func(Progress) { steps++ }
		must.Do(going.Run(t.Context(), f, again))
		if want := l.Total() - (cut-1)/3*3; !mat.Equal(again.X, whole.X) || steps != want {
			t.Errorf("killed after %d steps: other numbers, or %d steps where %d were left", cut, steps, want)
		}
		must.Do(os.Remove(l.Path))
	}
}

// The same with a Metropolis test, whose mean acceptance counts all steps.
func TestStoredMALA(t *testing.T) {
	f := must.Get(NewGaussian(nil, covariance(seeded(6), 3, .3)))
	x := normals(seeded(7), 70, 3)
	start := func() *Chain { return Start(seeded(8), x) }
	m := MALA{Steps: 20, Step: .2}
	whole := start()
	want := must.Get(m.Run(t.Context(), f, whole))
	m.Path, m.Every = filepath.Join(t.TempDir(), "chains.ckpt"), 4
	killed(t, m.Path, 11, func(ctx context.Context, trace func(Progress)) error {
		m := m
		m.Trace = trace
		_, err := m.Run(ctx, f, start())
		return err
	})
	for range 2 { // what has ended is read alone
		again := start()
		got := must.Get(m.Run(t.Context(), f, again))
		if !mat.Equal(again.X, whole.X) || got != want {
			t.Errorf("other numbers, or an acceptance of %v, want %v", got, want)
		}
	}
	longer := m
	longer.Steps = 30
	again := start()
	if _, err := longer.Run(t.Context(), f, again); err != nil || again.Done != 30 {
		t.Errorf("%d steps: %v", again.Done, err)
	}
	if _, err := m.Run(t.Context(), f, start()); !errors.Is(err, ErrParameter) {
		t.Errorf("fewer steps than were stored: %v", err)
	}
}

// A chain that was interrupted goes on in the same process too.
func TestInterruptedGoesOn(t *testing.T) {
	f := onLine(0, 2)
	x := normals(seeded(7), 9, 1)
	l := Langevin{Steps: 20, Step: .1}
	whole, part := Start(seeded(8), x), Start(seeded(8), x)
	must.Do(l.Run(t.Context(), f, whole))
	l.Path = filepath.Join(t.TempDir(), "chains.ckpt")
	for _, at := range []int{5, 9} {
		var ctx context.Context
		ctx, l.Trace = until(t, at)
		if err := l.Run(ctx, f, part); !errors.Is(err, context.Canceled) || part.Done != at {
			t.Fatalf("%d steps: %v", part.Done, err)
		}
	}
	other := Start(seeded(8), x) // as another process would
	for _, c := range []*Chain{part, other} {
		if err := l.Run(t.Context(), f, c); err != nil || !mat.Equal(c.X, whole.X) {
			t.Errorf("other numbers: %v", err)
		}
	}
}

// What is stored of another run is refused, and left as it is.
func TestStoredIsRefused(t *testing.T) {
	f := onLine(0, 2)
	x := normals(seeded(7), 9, 1)
	l := Langevin{Steps: 5, Step: .1, Path: filepath.Join(t.TempDir(), "chains.ckpt")}
	start := func(seed uint64) *Chain { return Start(seeded(seed), x) }
	must.Do(l.Run(t.Context(), f, start(1)))
	stored := must.Get(os.ReadFile(l.Path))
	moved := start(1)
	moved.X.Set(0, 0, 3)
	steps, levels := l, l
	steps.Step, levels.Levels = .2, []float64{.5}
	for name, err := range map[string]error{
		"seed":   l.Run(t.Context(), f, start(2)),
		"points": l.Run(t.Context(), f, moved),
		"step":   steps.Run(t.Context(), f, start(1)),
		"levels": levels.Run(t.Context(), f, start(1)),
		"field":  l.Run(t.Context(), onLine(0, 3), start(1)),
	} {
		if !errors.Is(err, train.ErrMismatch) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	if now, err := os.ReadFile(l.Path); err != nil || string(now) != string(stored) {
		t.Errorf("the file was changed: %v", err)
	}
	must.Do(os.WriteFile(l.Path, stored[:len(stored)/2], 0o666))
	if err := l.Run(t.Context(), f, start(1)); !errors.Is(err, train.ErrCorrupt) {
		t.Errorf("half a file: %v", err)
	}
	l.Every = -1
	if err := l.Run(t.Context(), f, start(1)); !errors.Is(err, ErrParameter) {
		t.Errorf("every −1 steps: %v", err)
	}
}
