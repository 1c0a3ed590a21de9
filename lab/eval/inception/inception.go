package inception

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"coupling/data"
	"coupling/lab/device"
	"coupling/lab/nn"
)

// Network is Inception-v3 on a device; it is a feature.Features. Methods are for one goroutine at a time.
type Network struct {
	dev    *device.Device
	net    *nn.Sequential
	digest string
}

// side is what images are resampled to, batch how many go through at a time.
const (
	side  = 299
	batch = 16
)

// Name is "Inception-" and the beginning of the SHA-256 of the weights.
func (n *Network) Name() (string, error) { return "Inception-" + n.digest, nil }

// Free frees the weights.
func (n *Network) Free() { nn.Free(n.net.Params()) }

// Of returns the features of images of one or three channels, a row each.
func (n *Network) Of(ctx context.Context, images *data.Images) (*mat.Dense, error) {
	if !(images.Lo < images.Hi) || images.Len() == 0 {
		return nil, fmt.Errorf("inception: %d images in [%v, %v]: must be some, and Lo < Hi", images.Len(), images.Lo, images.Hi)
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
	small := n.dev.From32(images.Pixels(), count, c, h, w)
	x := n.dev.New(device.Float32, count, c, side, side)
	device.Bilinear(x, small, false)
	lo, hi := float64(images.Lo), float64(images.Hi)
	device.Scale(x, 2/(hi-lo), x)
	device.Map(x, x, device.AddConst, -(hi+lo)/(hi-lo))
	y := n.net.Forward(&nn.Pass{ForwardOnly: true}, x)
	rows, err = y.Get32()
	return rows, y.Dim(1), err
}
