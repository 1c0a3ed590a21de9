package main

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"coupling/lab/store"
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

// failures tells each reason once, with the cells that it stopped.
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
