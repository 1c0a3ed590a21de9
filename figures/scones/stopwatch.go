package scones

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"coupling/lab"
	"coupling/score"
	"coupling/score/scones"

	"gonum.org/v1/gonum/mat"
)

// chains samples a coupling so many times for each row of x, stored under a name on the way, so that a killed run goes on. It
// returns the seconds a sample too.
func chains(ctx context.Context, c *lab.Cell, name string, k scones.Coupling, x *mat.Dense, each int, l score.Langevin, start *mat.Dense, rng *rand.Rand) (y *mat.Dense, seconds float64, err error) {
	dir, err := c.Scratch()
	if err != nil {
		return nil, 0, err
	}
	w := watch(c)
	l.Path, l.Every, l.Trace = fmt.Sprintf("%s/chains-%s.ckpt", dir, name), every, w.hear
	if y, err = k.Sample(ctx, rng, x, each, l, start); err != nil {
		return nil, 0, err
	}
	return y, w.seconds(y.RawMatrix().Rows), nil
}

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
