package scones

import (
	"context"
	"fmt"
	"math/rand/v2"

	"coupling/lab"
	"coupling/score"
	"coupling/score/scones"

	"gonum.org/v1/gonum/mat"
)

// chains samples a coupling so many times for each row of x, stored under a name on the way, so that a killed run goes on.
func chains(ctx context.Context, c *lab.Cell, name string, k scones.Coupling, x *mat.Dense, each int, l score.Langevin, start *mat.Dense, rng *rand.Rand) (*mat.Dense, error) {
	dir, err := c.Scratch()
	if err != nil {
		return nil, err
	}
	l.Path, l.Every, l.Trace = fmt.Sprintf("%s/chains-%s.ckpt", dir, name), every, heard(c)
	return k.Sample(ctx, rng, x, each, l, start)
}

// heard is the Trace of a sampler.
func heard(c *lab.Cell) func(score.Progress) {
	return func(s score.Progress) { c.Progress(s.Done, s.Total) }
}

// progress is the Trace of a training of so many steps.
func progress(c *lab.Cell, steps int) func(int, float64) {
	return func(k int, _ float64) { c.Progress(k, steps) }
}
