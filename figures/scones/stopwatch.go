package scones

import (
	"time"

	"coupling/lab"
	"coupling/score"
)

// stopwatch tells a cell how far a sampler is, and times it by the steps that it hears of: where an earlier process made the
// first ones, samples a second are those of the steps that were left.
type stopwatch struct {
	cell  *lab.Cell
	begin time.Time
	steps int
	total int
}

// watch begins to time.
func watch(c *lab.Cell) *stopwatch { return &stopwatch{cell: c, begin: time.Now()} }

// hear is a sampler's Trace.
func (w *stopwatch) hear(s score.Progress) {
	w.steps, w.total = w.steps+1, s.Total
	w.cell.Progress(s.Done, s.Total)
}

// seconds is the time of one of n samples; 0 where no step was left.
func (w *stopwatch) seconds(n int) float64 {
	if w.steps == 0 {
		return 0
	}
	return time.Since(w.begin).Seconds() * float64(w.total) / float64(w.steps*n)
}
