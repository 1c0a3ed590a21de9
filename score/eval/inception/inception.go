package inception

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"coupling/data"
	"coupling/lab/device"
	"coupling/lab/nn"
)

// Network is Inception-v3 on a device; it is a distance.Features. Methods are for one goroutine at a time.
type Network struct {
	dev  *device.Device
	net  *nn.Sequential
	name string
}

// side is the size that images are resampled to, batch the number that go through at a time.
const (
	side  = 299
	batch = 16
)

// Name returns "Inception-" and the beginning of the SHA-256 of the weights; of a network of a
// sixteenth of the width "Inception/16-" and that.
func (n *Network) Name() (string, error) { return n.name, nil }

// Free frees the weights.
func (n *Network) Free() { nn.Free(n.net.Params()) }

// Of returns the features of images of one or three channels, a row each. Values are rounded to bytes first.
func (n *Network) Of(ctx context.Context, images *data.Images) (*mat.Dense, error) {
	if !(images.Lo < images.Hi) || images.Len() == 0 {
		return nil, fmt.Errorf("inception: %d images in [%v, %v]: must be some, and Lo < Hi", images.Len(),
			images.Lo, images.Hi)
	}
	var out *mat.Dense
	for lo := 0; lo < images.Len(); lo += batch {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rgb, err := images.Slice(lo, min(lo+batch, images.Len())).RGB()
		if err != nil {
			return nil, fmt.Errorf("inception: %w", err)
		}
		rows, width, err := n.forward(rgb)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = mat.NewDense(images.Len(), width, nil)
		}
		for i, v := range rows {
			out.Set(lo+i/width, i%width, float64(v))
		}
	}
	return out, nil
}

// forward resamples, scales to [−1, 1] and passes a batch through.
func (n *Network) forward(images *data.Images) (rows []float32, width int, err error) {
	defer n.dev.Scope().Close()
	count, c, h, w := images.Shape()
	small := n.dev.From32(toBytes(images), count, c, h, w)
	x := n.dev.New(device.Float32, count, c, side, side)
	device.Bilinear(x, small, false)
	device.Scale(x, 2./255, x)
	device.Map(x, x, device.AddConst, -1)
	y := n.net.Forward(&nn.Pass{ForwardOnly: true}, x)
	rows, err = y.Get32()
	return rows, y.Dim(1), err
}

// toBytes are the values as published tools read them: whole numbers from 0 at Lo to 255 at Hi.
func toBytes(images *data.Images) []float32 {
	x := slices.Clone(images.Pixels())
	for i, v := range x {
		x[i] = float32(math.Round(255 * min(max(float64(v-images.Lo)/float64(images.Hi-images.Lo), 0), 1)))
	}
	return x
}
