package dpsinkhorn

import (
	"context"
	"fmt"
	"math/rand/v2"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/dp/synth/denoise"
	"coupling/dp/synth/merf"
	"coupling/dp/synth/semidual"
	"coupling/lab/device"
)

// The methods, by their names in tables.
const (
	semiDual   = "semi-dual"
	wholeBatch = "whole-batch clip"
	dpMERF     = "DP-MERF"
	dpSGD      = "DP-SGD"
)

// method is one way to make images at a sound ε, and its sizes. δ is 1e-5 everywhere.
type method struct {
	Name    string  `json:"name"`
	Epsilon float64 `json:"epsilon"`
	Steps   int     `json:"steps"`   // of DP-MERF's generator and of DP-SGD, 0 for the suggested ones; the semi-dual has its own
	Batch   int     `json:"batch"`   // of DP-MERF
	Feature int     `json:"feature"` // and its random features
	Recipe  recipe  `json:"recipe"`  // of the whole batch, at the method's Epsilon
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
	case dpSGD:
		c := denoise.Suggested(m.Epsilon, images.Len())
		if m.Steps > 0 {
			c.Steps = m.Steps
		}
		c.Dir = scratch
		c, g, err := c.Calibrate(ctx, images.Len(), m.Epsilon, delta)
		if err != nil {
			return nil, g, err
		}
		gen, err := c.Train(ctx, dev, images, classes, key, progress)
		if err != nil {
			return nil, g, err
		}
		return gen.Sample, g, nil
	case wholeBatch:
		r := m.Recipe
		r.Epsilon = m.Epsilon
		gen, _, g, err := r.train(ctx, dev, images, key, scratch, progress)
		if err != nil {
			return nil, g, err
		}
		return gen.Sample, g, nil
	}
	return nil, dp.Guarantee{}, fmt.Errorf("method %q: there is none", m.Name)
}

// recipeRate is the paper's 1e-4 for runs of its length, and ten times that for short ones.
func recipeRate(steps int) float64 {
	if steps < 50_000 {
		return 1e-3
	}
	return 1e-4
}
