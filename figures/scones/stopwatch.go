package scones

import (
	"time"

	"coupling/lab"
	"coupling/score"
)

// stopwatch tells a cell how far a sampler or trainings are, and times them by the steps that it hears of: where an earlier process
// made the first ones, what it says is the time of the steps that were left, times what there are in all.
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

// train is the Trace of a training of so many steps.
func (w *stopwatch) train(steps int) func(int, float64) {
	w.total += steps
	return func(k int, _ float64) {
		w.steps++
		w.cell.Progress(k, steps)
	}
}

// seconds is the time of one of n samples; 0 where no step was left.
func (w *stopwatch) seconds(n int) float64 {
	if w.steps == 0 {
		return 0
	}
	return time.Since(w.begin).Seconds() * float64(w.total) / float64(w.steps*n)
}
