package eval

import (
	"context"

	"coupling/data"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"

	"gonum.org/v1/gonum/mat"
)

// oriented is a layer on random features of oriented gradients.
func oriented(s Shape, width int) *nn.Sequential {
	seen := (16 + s.Channels) * (s.Height / arch.GradientCell) * (s.Width / arch.GradientCell)
	return nn.Seq(
		&nn.Affine{By: .5, Plus: .5}, // from black at −1 to black at 0, as beyond the borders
		arch.Gradients(s.Channels), &nn.Dense{In: seen, Out: width}, nn.ReLU(), &nn.Dense{In: width, Out: s.Classes},
	)
}

// ridged is the share of the ridge in the mean square of a feature; it was chosen on real training images.
const ridged = 1e-4

// ridge sets the last layer by ridge regression; the others keep their fixed or random weights.
func (m *Model) ridge(ctx context.Context, images *data.Images) error {
	var fit train.Ridge
	for from := 0; from < images.Len(); from += forwardBatch {
		part := images.Slice(from, min(from+forwardBatch, images.Len()))
		x, err := m.Of(ctx, part)
		if err != nil {
			return err
		}
		fit.Add(x, part.Labels, m.Shape.Classes)
	}
	w, err := fit.Fit(ridged)
	if err != nil {
		return err
	}
	last := m.net.Layers[len(m.net.Layers)-1].(*nn.Dense)
	d, k := w.Dims()
	put(last.Params(), // outputs × inputs, and biases
		append(mat.DenseCopyOf(w.Slice(0, d-1, 0, k).T()).RawMatrix().Data, w.RawRowView(d-1)...))
	m.Run = Run{Epochs: 1, Best: 1, Complete: true}
	return m.dev.Sync()
}
