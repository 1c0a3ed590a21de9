package inception

import (
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn"
)

// pool is a layer without weights. The network is never trained, so that it has no way back.
type pool func(x *device.Array) *device.Array

// Init does nothing.
func (pool) Init(*device.Device, device.DType, *rand.Rand) {}

// Params returns nothing.
func (pool) Params() []*nn.Param { return nil }

// Forward applies the pool.
func (f pool) Forward(_ *nn.Pass, x *device.Array) *device.Array { return f(x) }

// VJP panics.
func (pool) VJP(*nn.Pass, *device.Array) *device.Array {
	panic("inception: the network has no way back")
}

// borderMean is the mean of each 3×3 window over the pixels that lie in the image, as TensorFlow has it: at a border
// the padding does not count, by which the means that count it are corrected.
func borderMean(x *device.Array) *device.Array {
	w := window(3, 1, 1)
	y, ones := x.Like(), x.Device().New(x.Type(), 1, 1, x.Dim(2), x.Dim(3))
	device.AvgPool(y, x, w)
	device.Fill(ones, 1)
	share := ones.Like()
	device.AvgPool(share, ones, w)
	device.Div(y, y, share)
	return y
}

// planeMean is the mean of each channel, N×C×H×W to N×C.
func planeMean(x *device.Array) *device.Array {
	y := x.Device().New(x.Type(), x.Dim(0), x.Dim(1), 1, 1)
	device.Reduce(y, x, device.Mean)
	return y.Reshape(x.Dim(0), x.Dim(1))
}
