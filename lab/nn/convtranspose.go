package nn

import (
	"math/rand/v2"

	"coupling/lab/device"
)

// ConvTranspose2D is the transpose of a Conv2D from Out to In channels, plus a bias: x is N×In×H×W, y N×Out×OH×OW with
// OH = (H−1)·stride − 2·pad + dilation·(kernel−1) + 1 + OutputPad. The weight is In×Out×kh×kw, as PyTorch has it.
// OutputPad, less than the stride, chooses among the sizes that the convolution would bring to H×W.
type ConvTranspose2D struct {
	In, Out   int
	Window    device.Window
	OutputPad [2]int
	NoBias    bool
	Weights   Initialiser // nil: PyTorch's default

	W, B *Param
}

// Init allocates and draws the parameters.
func (c *ConvTranspose2D) Init(dev *device.Device, t device.DType, rng *rand.Rand) {
	k := c.Window.Kernel
	must(c.In > 0 && c.Out > 0 && k[0] > 0 && k[1] > 0, c, "In = %d, Out = %d, Kernel = %v: must be > 0", c.In, c.Out, k)
	for i := range 2 {
		o := c.OutputPad[i]
		must(o == 0 || o > 0 && o < c.Window.Stride[i], c, "OutputPad = %v, Stride = %v: must be less", c.OutputPad, c.Window.Stride)
	}
	shape := []int{c.In, c.Out, k[0], k[1]}
	c.W = newParam(dev, t, "weight", c.Weights.weight(rng, shape...), shape...)
	if !c.NoBias {
		c.B = newParam(dev, t, "bias", bias(rng, c.Out, shape...), c.Out)
	}
}

// Params returns weight and bias.
func (c *ConvTranspose2D) Params() []*Param { return present(c.W, c.B) }

// patch is the number of elements that one pixel of x spreads to.
func (c *ConvTranspose2D) patch() int { return c.Out * c.Window.Kernel[0] * c.Window.Kernel[1] }

// size is the height and width of y.
func (c *ConvTranspose2D) size(h, w int) (oh, ow int) {
	var out [2]int
	for i, n := range [2]int{h, w} {
		stride, dilation := max(1, c.Window.Stride[i]), max(1, c.Window.Dilation[i])
		out[i] = (n-1)*stride - 2*c.Window.Pad[i] + dilation*(c.Window.Kernel[i]-1) + 1 + c.OutputPad[i]
	}
	return out[0], out[1]
}

// single says that x is one pixel that y is the patch of: then a matrix product does all examples at once.
func (c *ConvTranspose2D) single(x *device.Array) bool {
	return x.Dim(2)*x.Dim(3) == 1 && c.Window.Pad == [2]int{} && c.OutputPad == [2]int{} && max(c.Window.Dilation[0], c.Window.Dilation[1]) <= 1
}

// Forward returns the transposed convolution.
func (c *ConvTranspose2D) Forward(p *Pass, x *device.Array) *device.Array {
	must(x.Rank() == 4 && x.Dim(1) == c.In, c, "shape of x = %v: must be [N %d H W]", x.Shape(), c.In)
	n, positions := x.Dim(0), x.Dim(2)*x.Dim(3)
	oh, ow := c.size(x.Dim(2), x.Dim(3))
	y := x.Device().New(x.Type(), n, c.Out, oh, ow)
	w := c.W.Value.Reshape(c.In, c.patch())
	if c.single(x) {
		device.Gemm(y.Reshape(n, c.patch()), 1, x.Reshape(n, c.In).N(), w.N(), 0)
	} else {
		tiles(x, c.patch()*positions, func(lo, hi int) {
			col := x.Device().New(x.Type(), hi-lo, c.patch(), positions)
			device.Gemm(col, 1, w.Reshape(1, c.In, c.patch()).T(), x.Rows(lo, hi).Reshape(hi-lo, c.In, positions).N(), 0)
			device.Col2im(y.Rows(lo, hi), col, c.Window)
			col.Free()
		})
	}
	if c.B != nil {
		device.Add(y, y, c.B.Value.Reshape(1, c.Out, 1, 1))
	}
	p.Push(c, x)
	return y
}

// VJP returns the convolution of dy; dW += Σ_n x_n·patches(dy)_nᵀ.
func (c *ConvTranspose2D) VJP(p *Pass, dy *device.Array) *device.Array {
	x := p.Pop(c)[0]
	n, positions := x.Dim(0), x.Dim(2)*x.Dim(3)
	dx := x.Like()
	w := c.W.Value.Reshape(c.In, c.patch())
	if c.B != nil && p.params() {
		addSum(c.B.Grad, dy, 1, c.Out, 1, 1)
	}
	if c.B != nil && p.squares() {
		db := reduce(dy, device.Sum, n, c.Out, 1, 1)
		addSquares(p.Squares, db)
		db.Free()
	}
	if c.single(x) {
		c.singleVJP(p, dx, x.Reshape(n, c.In), dy.Reshape(n, c.patch()))
		return dx
	}
	tiles(x, c.patch()*(positions+c.In), func(lo, hi int) {
		col, free := unfold(dy.Rows(lo, hi), c.Window, positions)
		xs := x.Rows(lo, hi).Reshape(hi-lo, c.In, positions)
		if p.params() {
			addProducts(c.W.Grad.Reshape(c.In, c.patch()), xs, col)
		}
		if p.squares() {
			addProductSquares(p.Squares.Rows(lo, hi), xs, col)
		}
		device.Gemm(dx.Rows(lo, hi).Reshape(hi-lo, c.In, positions), 1, w.Reshape(1, c.In, c.patch()).N(), col.N(), 0)
		free()
	})
	return dx
}

// singleVJP is VJP where x is one pixel: that of a Dense, whose examples' gradients are outer products.
func (c *ConvTranspose2D) singleVJP(p *Pass, dx, x, dy *device.Array) {
	if p.params() {
		device.Gemm(c.W.Grad.Reshape(c.In, c.patch()), 1, x.T(), dy.N(), 1)
	}
	if p.squares() {
		n := x.Dim(0)
		s := reduce(x, device.SumSquares, n, 1)
		device.Mul(s, s, reduce(dy, device.SumSquares, n, 1))
		addInto(p.Squares, s)
	}
	device.Gemm(dx.Reshape(x.Shape()...), 1, dy.N(), c.W.Value.Reshape(c.In, c.patch()).T(), 0)
}
