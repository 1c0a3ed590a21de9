package dpsinkhorn

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"coupling/data"
	"coupling/data/sample"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/dp/synth/denoise"
	"coupling/dp/synth/merf"
	"coupling/dp/synth/semidual"
	"coupling/figures/artifact"
	"coupling/lab"
	"coupling/lab/device"

	"gonum.org/v1/gonum/mat"
)

// The methods, by their names in tables.
const (
	semiDual    = "semi-dual"
	handwritten = "semi-dual, handwriting assumed" // samples are moved
	wholeBatch  = "whole-batch clip"
	wholeBatch3 = "whole-batch clip, m = 3"
	dpMERF      = "DP-MERF"
	dpSGD       = "DP-SGD"
	asPrinted   = "DP-Sinkhorn as printed"
	nonPrivate1 = "no privacy, m = 1"
	nonPrivate3 = "no privacy, m = 3"
	realData    = "real images"
)

// method is one way to make images at a sound ε, and its sizes. δ is 1e-5 everywhere.
type method struct {
	Name    string  `json:"name" doc:"of the method"`
	Epsilon float64 `json:"epsilon" min:"0" doc:"ε that holds; 0: none was asked for"`
	Steps   int     `json:"steps" min:"0" doc:"of DP-MERF's generator and of DP-SGD; 0: the suggested ones"`
	Batch   int     `json:"batch" min:"0" doc:"of DP-MERF"`
	Feature int     `json:"feature" min:"0" doc:"random features of DP-MERF"`
	Recipe  Recipe  `json:"recipe"` // of the whole batch, at the method's Epsilon
}

const delta = 1e-5

// sampler draws images.
type sampler func(rng *rand.Rand, n int) (*data.Images, error)

// train makes the generator.
func (m method) train(ctx context.Context, dev *device.Device, images *data.Images, r synth.Run) (sampler, cost, error) {
	p, err := synth.PublicOf(images)
	if err != nil {
		return nil, cost{}, err
	}
	var of synth.Method
	switch m.Name {
	case semiDual:
		of = semidual.Suggested(m.Epsilon, p)
	case handwritten:
		of = semidual.Handwriting(m.Epsilon, p)
	case dpMERF:
		of = merf.Config{Features: m.Feature, Steps: m.Steps, Batch: m.Batch}
	case dpSGD:
		c := denoise.Suggested(m.Epsilon, p)
		if m.Steps > 0 {
			c.Steps = m.Steps
		}
		of = c
	case wholeBatch, wholeBatch3, asPrinted, nonPrivate1, nonPrivate3:
		return m.Recipe.train(ctx, dev, images, delta, r)
	case realData:
		return pick(images), cost{}, nil
	default:
		return nil, cost{}, fmt.Errorf("method %q: there is none", m.Name)
	}
	return learn(ctx, dev, images, of, dp.Budget{Epsilon: m.Epsilon, Delta: delta}, r)
}

// pick draws real images, no more than there are.
func pick(images *data.Images) sampler {
	return func(rng *rand.Rand, n int) (*data.Images, error) { return images.Pick(rng, min(n, images.Len())) }
}

// learn trains a method with the least noise that meets the budget.
func learn(ctx context.Context, dev *device.Device, images *data.Images, m synth.Method, b dp.Budget, r synth.Run) (sampler, cost, error) {
	p, err := synth.PublicOf(images)
	if err != nil {
		return nil, cost{}, err
	}
	m, g, err := synth.Calibrate(ctx, m, p, b)
	if err != nil {
		return nil, cost{}, err
	}
	gen, err := m.Train(ctx, dev, images, r)
	if err != nil {
		return nil, cost{}, err
	}
	return gen.Sample, cost{Guarantee: g}, nil
}

// images reads MNIST or Fashion-MNIST, of each split at most so many; 0: all.
func images(ctx context.Context, fashion bool, most int, from data.Origin) (train, test *data.Images, err error) {
	load := data.MNIST
	if fashion {
		load = data.FashionMNIST
	}
	if train, err = load(ctx, sample.From(from), data.Train); err != nil {
		return nil, nil, err
	}
	if test, err = load(ctx, sample.From(from), data.Test); err != nil {
		return nil, nil, err
	}
	if most > 0 {
		train, test = train.Slice(0, min(most, train.Len())), test.Slice(0, min(most, test.Len()))
	}
	return train, test, nil
}

// making is a generator to be trained in a cell, and how its images are shown and judged.
type making struct {
	device      string
	train, test *data.Images
	n           int                             // images to be drawn
	shown       func(*data.Images) *data.Images // those that are kept as images.npy; nil: none
	judge       Judge
	repeat      int // of several trainings
	learn       func(dev *device.Device, r synth.Run) (sampler, cost, error)
}

// run trains, draws and judges. A run that is killed goes on. It returns the seconds of training too.
func (m making) run(ctx context.Context, c *lab.Cell) (out Judgement, spent cost, seconds float64, err error) {
	dev, errDev := c.Device(m.device)
	scratch, errScratch := c.Scratch()
	if err := errors.Join(errDev, errScratch); err != nil {
		return out, spent, 0, err
	}
	begin := time.Now()
	draw, spent, err := m.learn(dev, synth.Run{Key: release.SeededKey(c.Seed + uint64(m.repeat)<<32), Dir: scratch, Every: 200, Progress: c.Progress})
	if err != nil {
		return out, spent, 0, err
	}
	seconds = time.Since(begin).Seconds()
	synthetic, err := draw(c.Rand(fmt.Sprint("sample", m.repeat)), m.n)
	if err != nil {
		return out, spent, 0, err
	}
	if m.shown != nil {
		if err := artifact.Write(c, "images.npy", mat.DenseCopyOf(m.shown(synthetic).Mat())); err != nil {
			return out, spent, 0, err
		}
	}
	out, err = m.judge.look(ctx, dev, synthetic, m.train, m.test, c.Rand(fmt.Sprint("judge", m.repeat)))
	return out, spent, seconds, err
}

// first are the first images.
func first(n int) func(*data.Images) *data.Images {
	return func(m *data.Images) *data.Images { return m.Slice(0, n) }
}

// recipeRate is the paper's 1e-4 for runs of its length, and ten times that for short ones.
func recipeRate(steps int) float64 {
	if steps < 50_000 {
		return 1e-3
	}
	return 1e-4
}
