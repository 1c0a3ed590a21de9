package dpsinkhorn

import (
	"context"
	"fmt"
	"math/rand/v2"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/dp/synth/denoise"
	"coupling/dp/synth/merf"
	"coupling/dp/synth/semidual"
	"coupling/lab/device"
)

// The methods, by their names in tables.
const (
	semiDual    = "semi-dual"
	handwritten = "semi-dual, handwriting assumed" // samples are moved
	wholeBatch  = "whole-batch clip"
	dpMERF      = "DP-MERF"
	dpSGD       = "DP-SGD"
)

// method is one way to make images at a sound ε, and its sizes. δ is 1e-5 everywhere.
type method struct {
	Name    string  `json:"name"`
	Epsilon float64 `json:"epsilon"`
	Steps   int     `json:"steps"`   // of DP-MERF's generator and of DP-SGD, 0 for the suggested ones; the semi-dual has its own
	Batch   int     `json:"batch"`   // of DP-MERF
	Feature int     `json:"feature"` // and its random features
	Recipe  Recipe  `json:"recipe"`  // of the whole batch, at the method's Epsilon
}

const delta = 1e-5

// sampler draws images.
type sampler func(rng *rand.Rand, n int) (*data.Images, error)

// train makes the generator. scratch is where a run that is killed goes on.
func (m method) train(ctx context.Context, dev *device.Device, images *data.Images, key release.Key, scratch string, progress func(done, of int)) (sampler, dp.Guarantee, error) {
	p, err := synth.PublicOf(images)
	if err != nil {
		return nil, dp.Guarantee{}, err
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
	case wholeBatch:
		of = m.Recipe.training(images, 0)
	default:
		return nil, dp.Guarantee{}, fmt.Errorf("method %q: there is none", m.Name)
	}
	return learn(ctx, dev, images, of, dp.Budget{Epsilon: m.Epsilon, Delta: delta}, synth.Run{Key: key, Dir: scratch, Every: 200, Progress: progress})
}

// learn trains a method with the least noise that meets the budget.
func learn(ctx context.Context, dev *device.Device, images *data.Images, m synth.Method, b dp.Budget, r synth.Run) (sampler, dp.Guarantee, error) {
	p, err := synth.PublicOf(images)
	if err != nil {
		return nil, dp.Guarantee{}, err
	}
	m, g, err := synth.Calibrate(ctx, m, p, b)
	if err != nil {
		return nil, g, err
	}
	gen, err := m.Train(ctx, dev, images, r)
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
