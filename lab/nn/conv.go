package nn

import (
	"math/rand/v2"

	"coupling/lab/device"
	"coupling/lab/nn/initial"
)

// Conv2D is the cross-correlation of x, N×In×H×W, with a weight of Out×In×kh×kw, plus a bias for each channel. Cost
// of a forward pass: 2·N·OH·OW·Out·In·kh·kw.
type Conv2D struct {
	In, Out  int
	Window   device.Window
	NoBias   bool
	Weights  initial.Law // nil: PyTorch's default
	Spectral *Spectral   // nil: the weight as it is

	W, B *Param
}

// Init allocates and draws the parameters.
func (c *Conv2D) Init(dev *device.Device, t device.DType, rng *rand.Rand) {
	k := c.Window.Kernel
	must(c.In > 0 && c.Out > 0 && k[0] > 0 && k[1] > 0, c, "In = %d, Out = %d, Kernel = %v: must be > 0",
		c.In, c.Out, k)
	c.W, c.B = newWeight(dev, t, rng, c.Weights, !c.NoBias, c.Out, c.Out, c.In, k[0], k[1])
	c.Spectral.init(dev, t, rng, c.Out)
}

// Params returns weight, bias and singular vector.
func (c *Conv2D) Params() []*Param { return append(present(c.W, c.B), c.Spectral.params()...) }

// Forward returns the correlation.
func (c *Conv2D) Forward(p *Pass, x *device.Array) *device.Array {
	must(x.Rank() == 4 && x.Dim(1) == c.In, c, "shape of x = %v: must be [N %d H W]", x.Shape(), c.In)
	oh, ow := c.Window.Out(x.Dim(2), x.Dim(3))
	y := x.Device().New(x.Type(), x.Dim(0), c.Out, oh, ow)
	w, vectors := c.Spectral.apply(p, c.W.Value)
	device.Conv(y, x, c.shaped(w), c.Window)
	p.FLOP += 2 * float64(y.Len()*w.Len()/c.Out)
	p.Push(c, append([]*device.Array{x, w}, vectors...)...)
	return p.biased(c, y, c.B)
}

// VJP returns the transposed convolution of dy; dW += Σ_n dy_n ⋆ x_n and db is the sum of dy.
func (c *Conv2D) VJP(p *Pass, dy *device.Array) *device.Array {
	dy = p.biasedVJP(c, dy, c.B)
	saved := p.Pop(c)
	x, w := saved[0], saved[1]
	if p.params() {
		c.Spectral.grad(c.W, saved[1:], func(dw *device.Array) { device.ConvWeight(c.shaped(dw), x, dy, c.Window) })
	}
	if p.squares() {
		if c.Spectral != nil {
			p.noSquares(c, "spectral normalisation shares the weight's norm")
		}
		device.ConvSquares(p.Squares, x, dy, c.Window)
	}
	if p.bottom() {
		return nil
	}
	dx := x.Like()
	device.ConvInput(dx, dy, c.shaped(w), c.Window)
	return dx
}

// shaped is a weight, or its gradient, in its own shape: spectral normalisation works on matrices.
func (c *Conv2D) shaped(w *device.Array) *device.Array {
	return w.Reshape(c.Out, c.In, c.Window.Kernel[0], c.Window.Kernel[1])
}
