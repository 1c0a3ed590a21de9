package eval

import (
	"context"
	"math/rand/v2"
	"slices"

	"coupling/data"
	"coupling/data/batch"
	"coupling/lab/device"
)

// Classifier is a classifier and its training. The zero value is logistic regression by the Quick protocol.
type Classifier struct {
	Kind     Kind
	Protocol Protocol
	Width    int // hidden units of the MLP (0: 100), or channels of the first convolution (0: 32; LeNet: 6)
	Epochs   int // the largest number of epochs, or of iterations of L-BFGS; 0: the protocol's
}

// Run describes a finished training.
type Run struct {
	Epochs  int     // done, or iterations
	Best    int     // whose weights are kept
	Loss    float64 // mean cross-entropy, with L-BFGS the objective over the number of images, in the last epoch
	HeldOut float64 // accuracy of the kept weights on the held-out images, NaN if there were none
	// Complete reports that the protocol's own criterion ended the training: its number of epochs, its patience, or the
	// tolerances of L-BFGS; and not Epochs, its largest number, or a line search that found no lower value.
	Complete bool
}

// Report is the result on one set of images of a classifier trained on another.
type Report struct {
	Score
	Run  Run
	Kind Kind
}

// Evaluate trains on synthetic images, prepared as the protocol says, and tests on real ones: the utility of the
// synthetic images. Both have labels; ranges may differ, since each is scaled by its own Lo and Hi. The result is a
// function of images, seed and kind of device.
func (c Classifier) Evaluate(ctx context.Context, dev *device.Device, synthetic, real *data.Images,
	rng *rand.Rand) (*Report, error) {
	m, err := c.Fit(ctx, dev, c.Protocol.Prepare(synthetic), rng)
	if err != nil {
		return nil, err
	}
	defer m.Free()
	s, err := m.Test(ctx, real)
	if err != nil {
		return nil, err
	}
	return &Report{Score: *s, Run: m.Run, Kind: c.Kind}, nil
}

// Fit trains on images with labels in [0, K), where K is the number of named classes, or the largest label plus one
// where that is more. The caller frees the model. Cost per epoch and image: 6 operations for each multiply-add of the
// network, which are 7,840, 79,400, 3.2 million, .42 million and 12 million for the five kinds on MNIST.
func (c Classifier) Fit(ctx context.Context, dev *device.Device, images *data.Images, rng *rand.Rand) (*Model, error) {
	s, err := shapeOf(images)
	if err != nil {
		return nil, err
	}
	if c.Epochs < 0 {
		return nil, bad("Epochs = %d: must be ≥ 0", c.Epochs)
	}
	m, err := c.build(dev, s, rng)
	if err != nil {
		return nil, err
	}
	r := c.Protocol.recipe(c.Kind)
	switch {
	case c.Kind == Oriented:
		err = m.ridge(ctx, images)
	case r.lbfgs:
		err = m.minimise(ctx, images, r)
	default:
		err = m.descend(ctx, images, r, rng)
	}
	if err != nil {
		m.Free()
		return nil, err
	}
	return m, nil
}

// shapeOf is the shape of a classifier of these images.
func shapeOf(images *data.Images) (Shape, error) {
	n, c, h, w := images.Shape()
	s := Shape{Channels: c, Height: h, Width: w, Classes: len(images.Classes)}
	if n == 0 || len(images.Labels) != n {
		return s, bad("training set %q has %d images, %d labels: must be equal and > 0", images.Name,
			n, len(images.Labels))
	}
	if least := slices.Min(images.Labels); least < 0 {
		return s, bad("training set %q has the label %d: must be ≥ 0", images.Name, least)
	}
	s.Classes = max(s.Classes, slices.Max(images.Labels)+1)
	return s, ranged(images)
}

// hold splits n images into those to train on and those held out.
func (r recipe) hold(rng *rand.Rand, n int) (fit, held []int, err error) {
	keep := n
	if r.patience > 0 {
		if keep = n * 9 / 10; keep == n || keep == 0 {
			return nil, nil, bad("%d training images: a tenth of them is held out, must be ≥ 2", n)
		}
	}
	order := batch.All(n)
	if r.shuffledHold {
		order, err = batch.Subset(rng, n, n)
	}
	return order[:keep], order[keep:], err
}
