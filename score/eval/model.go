package eval

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"coupling/data"
	"coupling/lab/device"
	"coupling/lab/nn"
)

// Model is a classifier with weights on a device. Methods are for one goroutine at a time.
type Model struct {
	Classifier Classifier
	Shape      Shape
	Run        Run // how it was trained

	dev *device.Device
	net *nn.Sequential
}

// forwardBatch is the number of images that are classified at a time.
const forwardBatch = 500

// build returns an untrained model, or an error for a shape that the kind of network does not take.
func (c Classifier) build(dev *device.Device, s Shape, rng *rand.Rand) (*Model, error) {
	if err := s.check(c.Kind); err != nil {
		return nil, err
	}
	if c.Width < 0 || c.Protocol < Quick || c.Protocol > Paper {
		return nil, bad("Width = %d, Protocol = %d: must be ≥ 0 and one of the three", c.Width,
			c.Protocol)
	}
	m := &Model{Classifier: c, Shape: s, dev: dev, net: c.network(s)}
	m.net.Init(dev, device.Float32, rng)
	return m, nil
}

// Params returns the weights.
func (m *Model) Params() []*nn.Param { return m.net.Params() }

// Free frees the weights.
func (m *Model) Free() { nn.Free(m.Params()) }

// Name returns that of the features: the kind and eight hexadecimal digits of the SHA-256 of the
// weights, "LeNet-1a2b3c4d".
// Features of models with different names cannot be compared.
func (m *Model) Name() (string, error) {
	h := sha256.New()
	for _, p := range m.Params() {
		w, err := p.Value.Get32()
		if err != nil {
			return "", fmt.Errorf("eval: weights: %w", err)
		}
		_ = binary.Write(h, binary.LittleEndian, w) // a hash never fails
	}
	return fmt.Sprintf("%v-%x", m.Classifier.Kind, h.Sum(nil)[:4]), nil
}

// Predict returns the most probable class of each image.
func (m *Model) Predict(ctx context.Context, images *data.Images) ([]int, error) {
	out := make([]int, 0, images.Len())
	err := m.each(ctx, images, true, func(logits []float32) { out = append(out, largest(logits)) })
	return out, err
}

// Certainty returns the probability that the model gives to the most probable class of each image:
// the largest softmax of its logits.
func (m *Model) Certainty(ctx context.Context, images *data.Images) ([]float64, error) {
	out := make([]float64, 0, images.Len())
	err := m.each(ctx, images, true, func(logits []float32) {
		top, sum := logits[largest(logits)], 0.
		for _, l := range logits {
			sum += math.Exp(float64(l - top))
		}
		out = append(out, 1/sum)
	})
	return out, err
}

// Of returns the features of each image, the input of the last layer, as a row: 100 numbers for the MLP,
// 128 for CNNs (1,600 for that of Paper, on MNIST), 84 for LeNet.
func (m *Model) Of(ctx context.Context, images *data.Images) (*mat.Dense, error) {
	var rows []float64
	err := m.each(ctx, images, false, func(x []float32) {
		for _, v := range x {
			rows = append(rows, float64(v))
		}
	})
	if err == nil && len(rows) == 0 {
		err = bad("no images")
	}
	if err != nil {
		return nil, err
	}
	return mat.NewDense(images.Len(), len(rows)/images.Len(), rows), nil
}

// Test classifies images that have labels.
func (m *Model) Test(ctx context.Context, real *data.Images) (*Score, error) {
	if real.Labels == nil {
		return nil, bad("test images %q have no labels", real.Name)
	}
	predicted, err := m.Predict(ctx, real)
	if err != nil {
		return nil, err
	}
	return newScore(real.Labels, predicted)
}

// each runs all images through the network, a batch at a time, and calls see with each image's logits or
// features.
func (m *Model) each(ctx context.Context, images *data.Images, logits bool, see func(row []float32)) error {
	if err := m.fits(images); err != nil {
		return err
	}
	var buf []float32
	for lo := 0; lo < images.Len(); lo += forwardBatch {
		if err := ctx.Err(); err != nil {
			return err
		}
		batch := images.Slice(lo, min(lo+forwardBatch, images.Len()))
		buf = scaled(buf[:0], batch)
		rows, width, err := m.forward(buf, logits)
		if err != nil {
			return err
		}
		for row := range slices.Chunk(rows, width) {
			see(row)
		}
	}
	return nil
}

// forward is one batch of each.
func (m *Model) forward(x []float32, logits bool) (rows []float32, width int, err error) {
	defer m.dev.Scope().Close()
	s := m.Shape
	y := m.dev.From32(x, len(x)/s.pixels(), s.Channels, s.Height, s.Width)
	net := *m.net
	if !logits {
		net.Layers = net.Layers[:len(net.Layers)-1]
	}
	y = net.Forward(&nn.Pass{ForwardOnly: true}, y)
	y = y.Reshape(y.Dim(0), -1)
	rows, err = y.Get32()
	return rows, y.Dim(1), err
}

// fits refuses images of another shape or without a range.
func (m *Model) fits(images *data.Images) error {
	_, c, h, w := images.Shape()
	if s := m.Shape; c != s.Channels || h != s.Height || w != s.Width {
		return bad("images %q are %d×%d×%d, the classifier's %d×%d×%d: must be equal",
			images.Name, c, h, w, s.Channels, s.Height, s.Width)
	}
	return ranged(images)
}

func ranged(images *data.Images) error {
	if !(images.Lo < images.Hi) {
		return bad("images %q: Lo = %v, Hi = %v: must be Lo < Hi", images.Name, images.Lo, images.Hi)
	}
	return nil
}

// scaled appends the pixels of images, black −1 and white 1.
func scaled(dst []float32, images *data.Images) []float32 {
	dst = append(dst, images.Pixels()...)
	rescale(dst, images.Lo, images.Hi)
	return dst
}

func rescale(x []float32, lo, hi float32) {
	middle, factor := (lo+hi)/2, 2/(hi-lo)
	for i, v := range x {
		x[i] = (v - middle) * factor
	}
}

// largest is the index of the largest number, the first of equals.
func largest(x []float32) int {
	at := 0
	for i, v := range x {
		if v > x[at] {
			at = i
		}
	}
	return at
}
