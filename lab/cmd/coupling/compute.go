package main

import (
	"errors"
	"fmt"
	"time"

	"coupling/lab"
)

// tally is what became of a list of jobs.
type tally struct {
	recalled, computed int
	failed             []error
	left               int // not begun, because of an interrupt
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
	return s
}

// err is nil if every job's cell is there.
func (t tally) err() error {
	if len(t.failed) > 0 {
		return errors.Join(t.failed...)
	}
	if t.left > 0 {
		return fmt.Errorf("%s left; the same command goes on from here", plural(t.left, "cell"))
	}
	return nil
}

// compute has ex compute the jobs whose cells are missing, under a progress
// bar. A failed job does not stop the others.
func (a *app) compute(s *lab.Store, ex lab.Executor, what string, jobs []lab.Job) tally {
	began := time.Now()
	todo := s.Missing(jobs)
	t := tally{recalled: len(jobs) - len(todo)}
	bar := newProgress(a.err, what, len(todo), a.quiet)
	ctx := lab.WithSink(a.run.ctx, bar.event)
	for _, err := range ex.Run(ctx, s, todo) {
		switch {
		case err == nil:
			t.computed++
		case a.run.ctx.Err() == nil: // else it was told to stop
			t.failed = append(t.failed, err)
		}
	}
	bar.finish()
	t.left = len(todo) - t.computed - len(t.failed)
	t.seconds = time.Since(began).Seconds()
	return t
}
