package scones

import (
	"context"
	"fmt"
	"math/rand/v2"

	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
	"coupling/ot/fdiv"
	"coupling/score"
	"coupling/score/dsm"
	"coupling/score/scones"
	"coupling/score/scones/neural"

	"gonum.org/v1/gonum/mat"
)

// chains samples a coupling so many times for each row of x, stored under a name on the way, so
// that a killed run goes on.
func chains(ctx context.Context, c *lab.Cell, name string, k scones.Coupling, x *mat.Dense, each int, l score.Langevin,
	start *mat.Dense, rng *rand.Rand) *mat.Dense {
	dir := lab.Must(c.Scratch())
	l.Path, l.Every, l.Trace = fmt.Sprintf("%s/chains-%s.ckpt", dir, name), every, heard(c)
	return lab.Must(k.Sample(ctx, rng, x, each, l, start))
}

// A learner is the paper's method but for the score: potentials by Algorithm 1, and a network that
// learns their barycentric projection.
type learner struct {
	dim        int // of points
	potentials neural.Training
	beta       float64 // sharpness of the soft-plus with which potentials are sampled and projected
	projection neural.Projection
	net        nn.Layer // of the projection; nil: none is learnt
}

// algorithm1 is the paper's, under KL, with a rate that falls to 0.
func algorithm1(lambda float64, steps, batch int) scones.Ascent {
	return scones.Ascent{
		Compatibility: scones.Compatibility{F: fdiv.KL, Lambda: lambda},
		Steps:         steps,
		Batch:         batch,
		Schedule:      train.Linear(steps, 0),
	}
}

// ofPoints are potentials of three hidden layers of a width and, in half as many steps, a projection of two.
func ofPoints(dim int, lambda float64, width, steps, batch int, rate float64) learner {
	return learner{
		dim: dim,
		potentials: neural.Training{Ascent: algorithm1(lambda, steps, batch), Hidden: []int{width, width, width},
			Rate: rate},
		projection: neural.Projection{Steps: steps / 2, Batch: batch, Rate: rate, Schedule: train.Linear(steps/2, 0)},
		net:        arch.MLP{Sizes: []int{dim, width, width, dim}}.Net(),
	}
}

// run trains on points of x and y, stored under a name on the way, so that a killed run goes on.
func (l learner) run(ctx context.Context, c *lab.Cell, dev *device.Device, name string, rng *rand.Rand,
	x, y scones.Source) (out scones.Coupling, projection *neural.Map) {
	dir := lab.Must(c.Scratch())
	t, p := l.potentials, l.projection
	t.Path, t.Every, t.Trace = fmt.Sprintf("%s/potentials-%s.ckpt", dir, name), every, progress(c, t.Steps)
	nets := lab.Must(t.Run(ctx, rng, dev, l.dim, x, y))
	out = scones.Coupling{Compatibility: t.Compatibility, Phi: nets.Phi, Psi: nets.Psi, Mean: t.Mean}
	out.Beta = l.beta
	if l.net == nil {
		return out, nil
	}
	p.Coupling, p.Path, p.Every, p.Trace = out, fmt.Sprintf("%s/projection-%s.ckpt", dir, name), every,
		progress(c, p.Steps)
	return out, lab.Must(p.Run(ctx, rng, dev, l.net, x, y))
}

// trainScore trains a score network on rows of a shape. A killed run goes on.
func trainScore(ctx context.Context, c *lab.Cell, dev *device.Device, t dsm.Training, net nn.Layer, rng *rand.Rand,
	x *mat.Dense, shape []int) *dsm.Network {
	dir := lab.Must(c.Scratch())
	t.Path, t.Every, t.Trace = dir+"/score.ckpt", every, progress(c, t.Steps)
	return lab.Must(t.Run(ctx, rng, dev, net, x, shape))
}

// heard is the Trace of a sampler.
func heard(c *lab.Cell) func(score.Progress) {
	return func(s score.Progress) { c.Progress(s.Done, s.Total) }
}

// progress is the Trace of a training of so many steps.
func progress(c *lab.Cell, steps int) func(int, float64) {
	return func(k int, _ float64) { c.Progress(k, steps) }
}
