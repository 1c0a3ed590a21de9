package eval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"coupling/data"
	"coupling/data/batch"
	"coupling/lab/device"
)

// Classifier says what is trained and how. The zero value is logistic regression by the Quick protocol.
type Classifier struct {
	Kind     Kind
	Protocol Protocol
	Width    int        // MLP: hidden units, CNN and LeNet: channels of the first convolution; 0: 100, 32 and 6
	Epochs   int        // the largest number of epochs, or of iterations of L-BFGS; 0: the protocol's
	Trace    func(Step) // called after every epoch or iteration; may be nil
}

// Step is the state of a training after an epoch, or an iteration of L-BFGS.
type Step struct {
	Epoch, Epochs int     // from 1, and their largest number
	Loss          float64 // mean cross-entropy over the epoch
	HeldOut       float64 // accuracy on the held-out images, 0 if there are none
}

// Run describes a finished training.
type Run struct {
	Epochs   int     // done, or iterations
	Best     int     // whose weights are kept
	Loss     float64 // mean cross-entropy, with L-BFGS the objective over the number of images, in the last epoch
	HeldOut  float64 // accuracy of the kept weights on the held-out images, 0 if there were none
	Examples int     // trained on, without those held out
	Status   Status
}

// Status says why a training ended.
type Status int

const (
	// Complete means that all epochs of the protocol were done.
	Complete Status = iota
	// Patience means that the accuracy on the held-out images did not improve for the protocol's
	// number of epochs.
	Patience
	// Converged means that the gradient of L-BFGS is below its tolerance.
	Converged
	// Stalled means that L-BFGS found no lower value.
	Stalled
	// Limit means that Epochs, or the protocol's largest number, was reached before another
	// criterion.
	Limit
)

func (s Status) String() string {
	names := []string{"complete", "patience", "converged", "stalled", "limit"}
	if s < 0 || int(s) >= len(names) {
		return fmt.Sprintf("Status(%d)", int(s))
	}
	return names[s]
}

// Report is the result on one set of images of a classifier trained on another.
type Report struct {
	Score
	Run      Run
	Kind     Kind
	Protocol Protocol
}

// Evaluate trains on synthetic images, prepared as the protocol says, and tests on real ones: the utility of the
// synthetic images. Both have labels; ranges may differ, since each is scaled by its own Lo and Hi. The result is a
// function of images, seed and kind of device.
func (c Classifier) Evaluate(ctx context.Context, dev *device.Device, synthetic, real *data.Images, rng *rand.Rand) (*Report, error) {
	m, err := c.Fit(ctx, dev, c.Protocol.Prepare(synthetic), rng)
	if err != nil {
		return nil, err
	}
	defer m.Free()
	s, err := m.Test(ctx, real)
	if err != nil {
		return nil, err
	}
	return &Report{Score: *s, Run: m.Run, Kind: c.Kind, Protocol: c.Protocol}, nil
}

// Fit trains on images with labels in [0, K), where K is the number of named classes, or the largest label plus one
// where that is more. The caller frees the model. Cost per epoch and image: 6 operations for each multiply-add of the
// network, which are 7,840, 79,400, 3.2 million and .42 million for the four kinds on MNIST.
func (c Classifier) Fit(ctx context.Context, dev *device.Device, images *data.Images, rng *rand.Rand) (*Model, error) {
	s, err := shapeOf(images)
	if err != nil {
		return nil, err
	}
	if c.Epochs < 0 {
		return nil, fmt.Errorf("eval: Epochs = %d: must be ≥ 0: %w", c.Epochs, ErrArgument)
	}
	m, err := c.New(dev, s, rng)
	if err != nil {
		return nil, err
	}
	r := c.Protocol.recipe(c.Kind)
	if r.lbfgs {
		err = m.minimise(ctx, images, r)
	} else {
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
		return s, fmt.Errorf("eval: training set %q has %d images, %d labels: must be equal and > 0: %w", images.Name, n, len(images.Labels), ErrArgument)
	}
	if least := slices.Min(images.Labels); least < 0 {
		return s, fmt.Errorf("eval: training set %q has the label %d: must be ≥ 0: %w", images.Name, least, ErrArgument)
	}
	s.Classes = max(s.Classes, slices.Max(images.Labels)+1)
	return s, ranged(images)
}

// hold splits n images into those to train on and those held out.
func (r recipe) hold(rng *rand.Rand, n int) (fit, held []int, err error) {
	keep := n
	if r.patience > 0 {
		if keep = n * 9 / 10; keep == n || keep == 0 {
			return nil, nil, fmt.Errorf("eval: %d training images: a tenth of them is held out, must be ≥ 2: %w", n, ErrArgument)
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if r.shuffledHold {
		parts, err := batch.Split(rng, n, keep, n-keep)
		if err != nil {
			return nil, nil, err
		}
		return parts[0], parts[1], nil
	}
	return order[:keep], order[keep:], nil
}
