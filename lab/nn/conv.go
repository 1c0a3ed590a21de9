package nn

import (
	"math/rand/v2"

	"coupling/lab/device"
)

// Conv2D is the cross-correlation of x, N×In×H×W, with a weight of Out×In×kh×kw, plus a bias for each channel. Patches
// are unfolded for as many examples at a time as fit tileBytes, and again in VJP. Cost of a forward pass:
// 2·N·OH·OW·Out·In·kh·kw.
type Conv2D struct {
	In, Out  int
	Window   device.Window
	NoBias   bool
	Weights  Initialiser // nil: PyTorch's default
	Spectral *Spectral   // nil: the weight as it is

	W, B *Param
}

// Init allocates and draws the parameters.
func (c *Conv2D) Init(dev *device.Device, t device.DType, rng *rand.Rand) {
	k := c.Window.Kernel
	must(c.In > 0 && c.Out > 0 && k[0] > 0 && k[1] > 0, c, "In = %d, Out = %d, Kernel = %v: must be > 0", c.In, c.Out, k)
	shape := []int{c.Out, c.In, k[0], k[1]}
	c.W = newParam(dev, t, "weight", c.Weights.weight(rng, shape...), shape...)
	if !c.NoBias {
		c.B = newParam(dev, t, "bias", bias(rng, c.Out, shape...), c.Out)
	}
	c.Spectral.init(dev, t, rng, c.Out, c.patch())
}

// Params returns weight, bias and singular vector.
func (c *Conv2D) Params() []*Param { return append(present(c.W, c.B), c.Spectral.params()...) }

// patch is the number of elements under the window.
func (c *Conv2D) patch() int { return c.In * c.Window.Kernel[0] * c.Window.Kernel[1] }

// pointwise says that patches are pixels, and need not be unfolded.
func pointwise(w device.Window) bool {
	return w.Kernel == [2]int{1, 1} && w.Pad == [2]int{} && max(w.Stride[0], w.Stride[1]) <= 1
}

// Forward returns the correlation.
func (c *Conv2D) Forward(p *Pass, x *device.Array) *device.Array {
	must(x.Rank() == 4 && x.Dim(1) == c.In, c, "shape of x = %v: must be [N %d H W]", x.Shape(), c.In)
	oh, ow := c.Window.Out(x.Dim(2), x.Dim(3))
	y := x.Device().New(x.Type(), x.Dim(0), c.Out, oh, ow)
	w, vectors := c.Spectral.apply(p, c.W.Value)
	wm := w.Reshape(1, c.Out, c.patch())
	tiles(x, c.patch()*oh*ow, func(lo, hi int) {
		col, free := unfold(x.Rows(lo, hi), c.Window, oh*ow)
		device.Gemm(y.Rows(lo, hi).Reshape(hi-lo, c.Out, oh*ow), 1, wm.N(), col.N(), 0)
		free()
	})
	if c.B != nil {
		device.Add(y, y, c.B.Value.Reshape(1, c.Out, 1, 1))
	}
	p.Push(c, append([]*device.Array{x, w}, vectors...)...)
	return y
}

// unfold returns the patches of x and what frees them.
func unfold(x *device.Array, w device.Window, positions int) (col *device.Array, free func()) {
	if pointwise(w) {
		return x.Reshape(x.Dim(0), x.Dim(1), positions), func() {}
	}
	col = x.Device().New(x.Type(), x.Dim(0), x.Dim(1)*w.Kernel[0]*w.Kernel[1], positions)
	device.Im2col(col, x, w)
	return col, col.Free
}

// VJP returns the transposed convolution of dy; dW += Σ_n dy_n·patches_nᵀ and db is the sum of dy.
func (c *Conv2D) VJP(p *Pass, dy *device.Array) *device.Array {
	saved := p.Pop(c)
	x, w := saved[0], saved[1]
	positions := dy.Dim(2) * dy.Dim(3)
	if p.params() {
		c.Spectral.grad(c.W, saved[1:], func(dw *device.Array) { c.weightGrad(dw, x, dy) })
		if c.B != nil {
			addSum(c.B.Grad, dy, 1, c.Out, 1, 1)
		}
	}
	if p.squares() {
		c.squares(p, x, dy)
	}
	dx := x.Like()
	wm := w.Reshape(1, c.Out, c.patch())
	tiles(x, c.patch()*positions, func(lo, hi int) {
		dym, dxs := dy.Rows(lo, hi).Reshape(hi-lo, c.Out, positions), dx.Rows(lo, hi)
		if pointwise(c.Window) {
			device.Gemm(dxs.Reshape(hi-lo, c.In, positions), 1, wm.T(), dym.N(), 0)
			return
		}
		col := x.Device().New(x.Type(), hi-lo, c.patch(), positions)
		device.Gemm(col, 1, wm.T(), dym.N(), 0)
		device.Col2im(dxs, col, c.Window)
		col.Free()
	})
	return dx
}

func (c *Conv2D) weightGrad(dw, x, dy *device.Array) {
	positions := dy.Dim(2) * dy.Dim(3)
	tiles(x, c.patch()*positions, func(lo, hi int) {
		col, free := unfold(x.Rows(lo, hi), c.Window, positions)
		addProducts(dw, dy.Rows(lo, hi).Reshape(hi-lo, c.Out, positions), col)
		free()
	})
}

// squares adds ‖dy_n·patches_nᵀ‖² and |Σ_positions dy_n|².
func (c *Conv2D) squares(p *Pass, x, dy *device.Array) {
	if c.Spectral != nil {
		p.noSquares(c, "spectral normalisation shares the weight's norm")
	}
	n, positions := dy.Dim(0), dy.Dim(2)*dy.Dim(3)
	tiles(x, c.patch()*(positions+c.Out), func(lo, hi int) {
		col, free := unfold(x.Rows(lo, hi), c.Window, positions)
		addProductSquares(p.Squares.Rows(lo, hi), dy.Rows(lo, hi).Reshape(hi-lo, c.Out, positions), col)
		free()
	})
	if c.B != nil {
		db := reduce(dy, device.Sum, n, c.Out, 1, 1)
		addSquares(p.Squares, db)
		db.Free()
	}
}
