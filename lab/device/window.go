package device

import (
	"fmt"

	"coupling/lab/device/internal/backend"
)

// Window is the geometry of a convolution or pooling over the last two axes. Zero strides and dilations are 1.
type Window struct {
	Kernel   [2]int // rows and columns
	Stride   [2]int
	Pad      [2]int // on both sides
	Dilation [2]int
}

// SquareWindow returns a window of k×k with equal strides and padding.
func SquareWindow(k, stride, pad int) Window {
	return Window{Kernel: [2]int{k, k}, Stride: [2]int{stride, stride}, Pad: [2]int{pad, pad}}
}

// Out returns the size of the output for an input of h×w: ⌊(h + 2p − d(k−1) − 1)/s⌋ + 1. It panics where the window
// does not fit once. There is no ceil mode: rows and columns that are too few for a last window are left out.
func (w Window) Out(h, width int) (oh, ow int) {
	f := w.full()
	var out [2]int
	for i, n := range [2]int{h, width} {
		span := f.Dilation[i]*(f.Kernel[i]-1) + 1
		if f.Kernel[i] < 1 || f.Stride[i] < 1 || f.Dilation[i] < 1 || f.Pad[i] < 0 || n+2*f.Pad[i] < span {
			panic(fmt.Sprintf("device: window %+v does not fit an input of %d×%d", w, h, width))
		}
		out[i] = (n+2*f.Pad[i]-span)/f.Stride[i] + 1
	}
	return out[0], out[1]
}

func (w Window) full() backend.Window {
	f := backend.Window(w)
	for i := range 2 {
		if f.Stride[i] == 0 {
			f.Stride[i] = 1
		}
		if f.Dilation[i] == 0 {
			f.Dilation[i] = 1
		}
	}
	return f
}

// Conv is the cross-correlation y = W ⋆ x of x, N×In×H×W, with weight, Out×In×kh×kw:
//
//	y[n, o, a, b] = Σ_{c,i,j} weight[o, c, i, j]·x[n, c, a·stride − pad + i·dilation, b·stride − pad + j·dilation],
//
// x being 0 outside. y is N×Out×OH×OW. Cost: 2·N·OH·OW·Out·In·kh·kw.
func Conv(y, x, weight *Array, w Window) {
	check("Conv", y).reads(x, weight).conv(y, x, weight, w).
		do(func() { y.ops().Conv(y.t, x.t, weight.t, w.full()) })
}

// ConvInput is dx = Wᵀ dy, the transpose of Conv in x, which is the transposed convolution from Out to In. dx is
// overwritten.
func ConvInput(dx, dy, weight *Array, w Window) {
	check("ConvInput", dx).reads(dy, weight).conv(dy, dx, weight, w).
		do(func() { dx.ops().ConvInput(dx.t, dy.t, weight.t, w.full()) })
}

// ConvWeight is dw += Σ_n dy_n ⋆ x_n, the transpose of Conv in the weight.
func ConvWeight(dw, x, dy *Array, w Window) {
	check("ConvWeight", dw).reads(x, dy).conv(dy, x, dw, w).
		do(func() { dw.ops().ConvWeight(dw.t, x.t, dy.t, w.full()) })
}

// ConvSquares is squares_n += |dy_n ⋆ x_n|², the squared norm of each example's part of ConvWeight. squares is N.
func ConvSquares(squares, x, dy *Array, w Window) {
	check("ConvSquares", squares).reads(x, dy).shape("squares", squares, x.t.Shape[0]).
		shape("x", x, -1, -1, -1, -1).shape("dy", dy, -1, -1, -1, -1).slides(dy, x, w).
		do(func() { squares.ops().ConvSquares(squares.t, x.t, dy.t, w.full()) })
}

// conv checks the shapes of a convolution of x to y.
func (c args) conv(y, x, weight *Array, w Window) args {
	c.shape("x", x, -1, -1, -1, -1).shape("y", y, -1, -1, -1, -1)
	c.shape("weight", weight, y.t.Shape[1], x.t.Shape[1], w.Kernel[0], w.Kernel[1])
	return c.slides(y, x, w)
}

// slides checks that the window brings x to the size of y.
func (c args) slides(y, x *Array, w Window) args {
	oh, ow := w.Out(x.t.Shape[2], x.t.Shape[3])
	return c.shape("y", y, x.t.Shape[0], -1, oh, ow)
}

// MaxPool is the largest element in each window, and its flat index in the plane. Padding never wins; of equals the
// first does. Windows wholly in the padding are refused.
func MaxPool(y, index, x *Array, w Window) {
	check("MaxPool", y).reads(x).ints(index).like(index).pool(y, x, w).inside(y, x, w.full()).
		do(func() { y.ops().MaxPool(y.t, index.t, x.t, w.full()) })
}

// MaxPoolVJP adds each dy to the element that won. dx is overwritten.
func MaxPoolVJP(dx, dy, index *Array, w Window) {
	check("MaxPoolVJP", dx).reads(dy).ints(index).pool(dy, dx, w).
		do(func() { dx.ops().MaxPoolVJP(dx.t, dy.t, index.t, w.full()) })
}

// AvgPool is the mean of each window, padding counted as zeros.
func AvgPool(y, x *Array, w Window) {
	check("AvgPool", y).reads(x).pool(y, x, w).do(func() { y.ops().AvgPool(y.t, x.t, w.full()) })
}

// AvgPoolVJP spreads each dy evenly. dx is overwritten.
func AvgPoolVJP(dx, dy *Array, w Window) {
	check("AvgPoolVJP", dx).reads(dy).pool(dy, dx, w).
		do(func() { dx.ops().AvgPoolVJP(dx.t, dy.t, w.full()) })
}

func (c args) pool(y, x *Array, w Window) args {
	c.shape("x", x, -1, -1, -1, -1)
	oh, ow := w.Out(x.t.Shape[2], x.t.Shape[3])
	c.shape("y", y, x.t.Shape[0], x.t.Shape[1], oh, ow)
	f := w.full()
	for i := range 2 {
		if f.Pad[i] > f.Dilation[i]*(f.Kernel[i]-1) {
			c.fail("window %+v: padding must be less than the window", w)
		}
	}
	return c
}

// inside refuses windows whose every element is in the padding, which have no maximum: with dilation a window can
// straddle the plane.
func (c args) inside(y, x *Array, f backend.Window) args {
	for axis := range 2 {
		n, out := x.t.Shape[2+axis], y.t.Shape[2+axis]
		if f.Pad[axis] == 0 || f.Dilation[axis] == 1 {
			continue
		}
		for o := range out {
			hit := false
			for i := range f.Kernel[axis] {
				at := o*f.Stride[axis] - f.Pad[axis] + i*f.Dilation[axis]
				hit = hit || 0 <= at && at < n
			}
			if !hit {
				c.fail("window %+v, element %d of axis %d: lies wholly in the padding", f, o, 2+axis)
			}
		}
	}
	return c
}

// Nearest resamples x, N×C×H×W, to the size of y: y[oy, ox] = x[⌊oy·H/OH⌋, ⌊ox·W/OW⌋].
func Nearest(y, x *Array) {
	check("Nearest", y).reads(x).planes(y, x).do(func() { y.ops().Nearest(y.t, x.t) })
}

// NearestVJP is the transpose of Nearest. dx is overwritten.
func NearestVJP(dx, dy *Array) {
	check("NearestVJP", dx).reads(dy).planes(dy, dx).do(func() { dx.ops().NearestVJP(dx.t, dy.t) })
}

// Bilinear resamples with linear interpolation; align puts corners on corners, else pixels are areas (half-pixel
// centres, clamped at the border).
func Bilinear(y, x *Array, align bool) {
	check("Bilinear", y).reads(x).planes(y, x).do(func() { y.ops().Bilinear(y.t, x.t, align) })
}

// BilinearVJP is the transpose of Bilinear. dx is overwritten.
func BilinearVJP(dx, dy *Array, align bool) {
	check("BilinearVJP", dx).reads(dy).planes(dy, dx).
		do(func() { dx.ops().BilinearVJP(dx.t, dy.t, align) })
}

func (c args) planes(y, x *Array) args {
	c.shape("x", x, -1, -1, -1, -1)
	c.shape("y", y, x.t.Shape[0], x.t.Shape[1], -1, -1)
	if x.t.Shape[2]*x.t.Shape[3] == 0 && y.Len() > 0 {
		c.fail("x has empty planes")
	}
	return c
}
