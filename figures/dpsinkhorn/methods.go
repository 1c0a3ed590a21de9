package dpsinkhorn

import (
	"context"
	"fmt"
	"math/rand/v2"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/dpsinkhorn"
	"coupling/dp/dpsinkhorn/merf"
	"coupling/dp/dpsinkhorn/semidual"
	"coupling/dp/release"
	"coupling/lab/device"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
)

// The methods, by their names in tables.
const (
	semiDual   = "semi-dual"
	wholeBatch = "whole-batch clip"
	dpMERF     = "DP-MERF"
)

// method is one way to make images at a sound ε, and its sizes. δ is 1e-5 everywhere.
type method struct {
	Name    string  `json:"name"`
	Epsilon float64 `json:"epsilon"`
	Steps   int     `json:"steps"`  // of the whole-batch recipe and of DP-MERF's generator; the semi-dual has its own
	Batch   int     `json:"batch"`  // generated images of a step, and private ones expected
	Hidden  int     `json:"hidden"` // width of the DCGAN
	Feature int     `json:"feature"`
}

const delta = 1e-5

// sampler draws images.
type sampler func(rng *rand.Rand, n int) (*data.Images, error)

// train makes the generator. scratch is where a run that is killed goes on.
func (m method) train(ctx context.Context, dev *device.Device, images *data.Images, key release.Key, scratch string, progress func(done, of int)) (sampler, dp.Guarantee, error) {
	const classes = 10
	switch m.Name {
	case semiDual:
		c, g, err := semidual.Suggested(m.Epsilon, images.Len(), classes, images.Dim()).Calibrate(ctx, m.Epsilon, delta)
		if err != nil {
			return nil, g, err
		}
		model, err := c.Train(ctx, dev, images, classes, key, func(s semidual.Step) { progress(s.Done, s.Of) })
		if err != nil {
			return nil, g, err
		}
		return model.Sample, g, nil
	case dpMERF:
		c, g, err := merf.Config{Features: m.Feature, Steps: m.Steps, Batch: m.Batch}.Calibrate(ctx, m.Epsilon, delta)
		if err != nil {
			return nil, g, err
		}
		gen, err := c.Train(ctx, dev, images, classes, key, progress)
		if err != nil {
			return nil, g, err
		}
		return gen.Sample, g, nil
	case wholeBatch:
		return m.recipe(ctx, dev, images, key, scratch, progress)
	}
	return nil, dp.Guarantee{}, fmt.Errorf("method %q: there is none", m.Name)
}

// recipe is algorithm 1 with the paper's network, cost and p, and the clip that holds.
func (m method) recipe(ctx context.Context, dev *device.Device, images *data.Images, key release.Key, scratch string, progress func(done, of int)) (sampler, dp.Guarantee, error) {
	rate := min(float64(m.Batch)/float64(images.Len()), 1)
	event := func(sigma float64) dp.Event {
		return dpsinkhorn.WholeBatch{Multiplier: sigma}.Event(m.Batch, rate, m.Steps)
	}
	sigma, g, err := dp.MinNoise(ctx, dp.Budget{Epsilon: m.Epsilon, Delta: delta}, event)
	if err != nil {
		return nil, g, err
	}
	t := dpsinkhorn.Training{
		Net:  dpsinkhorn.Net{DCGAN: &arch.DCGAN{Latent: 12, Classes: 10, Embed: 4, Hidden: m.Hidden}},
		Loss: dpsinkhorn.Loss{L1: 1, Fresh: .4}, Sanitiser: dpsinkhorn.WholeBatch{Multiplier: sigma},
		Images: m.Batch, Rate: rate, Steps: m.Steps, Adam: train.Adam{Rate: recipeRate(m.Steps), Decay: 2e-5}, Dir: scratch, Every: 200,
		Trace: func(k int, _ *device.Array) { progress(k+1, m.Steps) },
	}
	gen, err := t.Run(ctx, dev, images, 10, key)
	if err != nil {
		return nil, g, err
	}
	return gen.Sample, g, nil
}

// recipeRate is the paper's 1e-4 for runs of its length, and ten times that for short ones.
func recipeRate(steps int) float64 {
	if steps < 50_000 {
		return 1e-3
	}
	return 1e-4
}
