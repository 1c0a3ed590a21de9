package nn

import (
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn/initial"
)

// ConvTranspose2D is the transpose of a Conv2D from Out to In channels, plus a bias: x is N×In×H×W, y N×Out×OH×OW with
// OH = (H−1)·stride − 2·pad + dilation·(kernel−1) + 1, the least that the convolution brings to H. The weight is
// In×Out×kh×kw, as PyTorch has it.
type ConvTranspose2D struct {
	In, Out int
	Window  device.Window
	NoBias  bool
	Weights initial.Law // nil: PyTorch's default

	W, B *Param
}

// Init allocates and draws the parameters.
func (c *ConvTranspose2D) Init(dev *device.Device, t device.DType, rng *rand.Rand) {
	k := c.Window.Kernel
	must(c.In > 0 && c.Out > 0 && k[0] > 0 && k[1] > 0, c, "In = %d, Out = %d, Kernel = %v: must be > 0",
		c.In, c.Out, k)
	c.W, c.B = newWeight(dev, t, rng, c.Weights, !c.NoBias, c.Out, c.In, c.Out, k[0], k[1])
}

// Params returns weight and bias.
func (c *ConvTranspose2D) Params() []*Param { return present(c.W, c.B) }

// size is the height and width of y.
func (c *ConvTranspose2D) size(h, w int) (oh, ow int) {
	var out [2]int
	for i, n := range [2]int{h, w} {
		stride, dilation := max(1, c.Window.Stride[i]), max(1, c.Window.Dilation[i])
		out[i] = (n-1)*stride - 2*c.Window.Pad[i] + dilation*(c.Window.Kernel[i]-1) + 1
	}
	return out[0], out[1]
}

// Forward returns the transposed convolution.
func (c *ConvTranspose2D) Forward(p *Pass, x *device.Array) *device.Array {
	must(x.Rank() == 4 && x.Dim(1) == c.In, c, "shape of x = %v: must be [N %d H W]", x.Shape(), c.In)
	oh, ow := c.size(x.Dim(2), x.Dim(3))
	y := x.Device().New(x.Type(), x.Dim(0), c.Out, oh, ow)
	device.ConvInput(y, x, c.W.Value, c.Window)
	p.FLOP += 2 * float64(x.Len()*c.W.Value.Len()/c.In)
	p.Push(c, x)
	return p.biased(c, y, c.B)
}

// VJP returns the convolution of dy; dW += Σ_n x_n ⋆ dy_n and db is the sum of dy.
func (c *ConvTranspose2D) VJP(p *Pass, dy *device.Array) *device.Array {
	dy = p.biasedVJP(c, dy, c.B)
	x := p.Pop(c)[0]
	if p.params() {
		device.ConvWeight(c.W.Grad, dy, x, c.Window)
	}
	if p.squares() {
		device.ConvSquares(p.Squares, dy, x, c.Window)
	}
	if p.bottom() {
		return nil
	}
	dx := x.Like()
	device.Conv(dx, dy, c.W.Value, c.Window)
	return dx
}
