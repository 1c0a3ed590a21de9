package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"coupling/lab/store"

	"golang.org/x/term"
)

// tally is what became of a list of jobs.
type tally struct {
	recalled, computed int
	failed             []error
	left               int // not begun, or stopped, because of an interrupt
	otherCode          int // of recalled
	seconds            float64
}

func (t tally) String() string {
	s := fmt.Sprintf("%s recalled, %d computed in %.1f s", plural(t.recalled, "cell"), t.computed, t.seconds)
	if len(t.failed) > 0 {
		s += fmt.Sprintf(", %d failed", len(t.failed))
	}
	if t.left > 0 {
		s += fmt.Sprintf(", %d left", t.left)
	}
	if t.otherCode > 0 {
		s += fmt.Sprintf(
			"; %s computed by other code, or by code that is not known (--recall=same computes them again)",
			plural(t.otherCode, "cell"))
	}
	return s
}

// err is nil if every job's cell is there.
func (t tally) err() error {
	if len(t.failed) > 0 {
		return failures(t.failed)
	}
	if t.left > 0 {
		return fmt.Errorf("%s left; the same command goes on from here", plural(t.left, "cell"))
	}
	return nil
}

// failures prints each reason once, with the cells that it stopped.
func failures(errs []error) error {
	cells := map[string]string{} // by reason
	for _, err := range errs {
		reason, cell := err.Error(), ""
		var ce *store.CellError
		if errors.As(err, &ce) {
			reason = ce.Err.Error()
			cell = fmt.Sprintf("\n  in %s %s seed %d %s", ce.Experiment, ce.Key.Short(), ce.Seed, ce.Params)
		}
		cells[reason] += cell
	}
	var out []error
	for _, reason := range slices.Sorted(maps.Keys(cells)) {
		out = append(out, errors.New(reason+cells[reason]))
	}
	return errors.Join(out...)
}

// compute has ex compute the jobs whose cells are missing, under a progress
// bar. A failed job does not stop the others.
func (a *app) compute(s *store.Store, ex store.Executor, what string, jobs iter.Seq[store.Job]) tally {
	began := time.Now()
	var todo []store.Job
	all := s.Survey(jobs, func(j store.Job) { todo = append(todo, j) })
	if len(todo) > 0 {
		if err := s.Writable(); err != nil { // once, and not for every cell
			return tally{recalled: all.Recalled, left: len(todo) - 1, failed: []error{err}}
		}
	}
	show, finish := a.progress(what, len(todo))
	var computed, recalled atomic.Int64
	ctx := store.WithSink(a.run.ctx, func(e store.Event) {
		switch e.Kind {
		case store.Stored:
			computed.Add(1)
		case store.Recalled: // another process was quicker
			recalled.Add(1)
		}
		show(e)
	})
	var t tally
	a.run.during(func() {
		for _, err := range ex.Run(ctx, s, todo) {
			if err != nil && a.run.ctx.Err() == nil { // else it was told to stop
				t.failed = append(t.failed, err)
			}
		}
	})
	finish()
	t.computed = int(computed.Load())
	t.recalled = all.Recalled + int(recalled.Load())
	t.left = len(todo) - int(recalled.Load()) - t.computed - len(t.failed)
	t.otherCode = all.OtherCode
	t.seconds = time.Since(began).Seconds()
	return t
}

// A statusLine is the last line of a terminal, written over and over. Elsewhere it
// is a line of a log now and then, or nothing.
type statusLine struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	shown    bool
	next     time.Time // not before
	every    time.Duration
}

// status returns a line on standard error. logged is how often it is logged where
// there is no terminal; 0: never.
func (a *app) status(logged time.Duration) *statusLine {
	f, ok := a.err.(*os.File)
	switch {
	case a.quiet:
	case ok && term.IsTerminal(int(f.Fd())):
		return &statusLine{w: f, terminal: true, every: 100 * time.Millisecond}
	case logged > 0:
		return &statusLine{w: a.err, every: logged, next: time.Now().Add(logged)}
	}
	return &statusLine{w: io.Discard}
}

func (l *statusLine) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.next) {
		return
	}
	l.next = time.Now().Add(l.every)
	if l.shown = true; l.terminal {
		fmt.Fprintf(l.w, "\r\x1b[K%s", text)
	} else {
		fmt.Fprintln(l.w, text)
	}
}

func (l *statusLine) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.terminal && l.shown {
		fmt.Fprint(l.w, "\r\x1b[K")
	}
	l.shown = false
}

// progress returns a sink that shows how far a list of jobs is, and what removes the display.
func (a *app) progress(what string, total int) (event func(store.Event), finish func()) {
	status, meter := a.status(10*time.Second), store.NewMeter(what, total)
	return func(e store.Event) {
		_, line := meter.Add(e)
		if e.Kind == store.Waiting {
			status.clear()
			fmt.Fprintf(status.w, "waiting for %s, which computes %s %s\n", e.Note, e.Experiment, e.Key.Short())
		}
		status.say(line)
	}, status.clear
}
