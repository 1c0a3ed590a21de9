package inception

import (
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn"
)

// borderMean is the mean of each 3×3 window over the pixels that lie in the image, as TensorFlow has it: at a border
// the padding does not count.
type borderMean struct{}

// Init does nothing.
func (*borderMean) Init(*device.Device, device.DType, *rand.Rand) {}

// Params returns nothing.
func (*borderMean) Params() []*nn.Param { return nil }

// Forward takes means that count the padding and corrects them.
func (m *borderMean) Forward(p *nn.Pass, x *device.Array) *device.Array {
	w := window(3, 1, 1)
	y := x.Like()
	device.AvgPool(y, x, w)
	share := m.share(x)
	device.Div(y, y, share)
	p.Push(m, share)
	return y
}

// share is which part of each window lies in the image, 1×1×H×W.
func (*borderMean) share(x *device.Array) *device.Array {
	ones := x.Device().New(x.Type(), 1, 1, x.Dim(2), x.Dim(3))
	device.Fill(ones, 1)
	share := ones.Like()
	device.AvgPool(share, ones, window(3, 1, 1))
	return share
}

// VJP is the transpose.
func (m *borderMean) VJP(p *nn.Pass, dy *device.Array) *device.Array {
	scaled, dx := dy.Like(), dy.Like()
	device.Div(scaled, dy, p.Pop(m)[0])
	device.AvgPoolVJP(dx, scaled, window(3, 1, 1))
	return dx
}

// planeMean is the mean of each channel, N×C×H×W to N×C.
type planeMean struct{}

// Init does nothing.
func (*planeMean) Init(*device.Device, device.DType, *rand.Rand) {}

// Params returns nothing.
func (*planeMean) Params() []*nn.Param { return nil }

// Forward takes means.
func (m *planeMean) Forward(p *nn.Pass, x *device.Array) *device.Array {
	y := x.Device().New(x.Type(), x.Dim(0), x.Dim(1), 1, 1)
	device.Reduce(y, x, device.Mean)
	p.Push(m, x)
	return y.Reshape(x.Dim(0), x.Dim(1))
}

// VJP spreads dy evenly.
func (m *planeMean) VJP(p *nn.Pass, dy *device.Array) *device.Array {
	x := p.Pop(m)[0]
	n, c := x.Dim(0), x.Dim(1)
	ones, part := x.Like(), x.Device().New(x.Type(), n, c, 1, 1)
	device.Fill(ones, 1)
	device.Scale(part, 1/float64(x.Dim(2)*x.Dim(3)), dy.Reshape(n, c, 1, 1))
	device.Mul(ones, ones, part)
	return ones
}
