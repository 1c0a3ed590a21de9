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

// SquareWindow is a window of k×k with equal strides and padding.
func SquareWindow(k, stride, pad int) Window {
	return Window{Kernel: [2]int{k, k}, Stride: [2]int{stride, stride}, Pad: [2]int{pad, pad}}
}

// Out is the size of the output for an input of h×w: ⌊(h + 2p − d(k−1) − 1)/s⌋ + 1. It panics where the window does
// not fit once. There is no ceil mode: rows and columns that are too few for a last window are left out.
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

// Im2col writes the patches of x, N×C×H×W, as columns: col[n, (c·kh+i)·kw+j, oy·OW+ox] = x[n, c, oy·s−p+i·d, ox·s−p+j·d],
// 0 outside. A convolution is Gemm of the weights, Cout × C·kh·kw, with col.
func Im2col(col, x *Array, w Window) {
	c := check("Im2col", col).float(x)
	c.patches(col, x, w)
	c.do(func() error { return col.d.b.Im2col(col.t, x.t, w.full()) })
}

// Col2im adds patches up, the transpose of Im2col. x is overwritten.
func Col2im(x, col *Array, w Window) {
	c := check("Col2im", x).float(col)
	c.patches(col, x, w)
	c.do(func() error { return x.d.b.Col2im(x.t, col.t, w.full()) })
}

func (c args) patches(col, x *Array, w Window) {
	c.shape("x", x, -1, -1, -1, -1)
	oh, ow := w.Out(x.t.Shape[2], x.t.Shape[3])
	c.shape("col", col, x.t.Shape[0], x.t.Shape[1]*w.Kernel[0]*w.Kernel[1], oh*ow)
}

// MaxPool is the largest element in each window, and its flat index in the plane. Padding never wins; of equals the
// first does. Windows wholly in the padding are refused.
func MaxPool(y, index, x *Array, w Window) {
	c := check("MaxPool", y).float(x).ints(index).like(index)
	c.pool(y, x, w)
	c.inside(y, x, w.full())
	c.do(func() error { return y.d.b.MaxPool(y.t, index.t, x.t, w.full()) })
}

// MaxPoolVJP adds each dy to the element that won. dx is overwritten.
func MaxPoolVJP(dx, dy, index *Array, w Window) {
	c := check("MaxPoolVJP", dx).float(dy).ints(index)
	c.pool(dy, dx, w)
	c.do(func() error { return dx.d.b.MaxPoolVJP(dx.t, dy.t, index.t, w.full()) })
}

// AvgPool is the mean of each window, padding counted as zeros.
func AvgPool(y, x *Array, w Window) {
	c := check("AvgPool", y).float(x)
	c.pool(y, x, w)
	c.do(func() error { return y.d.b.AvgPool(y.t, x.t, w.full()) })
}

// AvgPoolVJP spreads each dy evenly. dx is overwritten.
func AvgPoolVJP(dx, dy *Array, w Window) {
	c := check("AvgPoolVJP", dx).float(dy)
	c.pool(dy, dx, w)
	c.do(func() error { return dx.d.b.AvgPoolVJP(dx.t, dy.t, w.full()) })
}

func (c args) pool(y, x *Array, w Window) {
	c.shape("x", x, -1, -1, -1, -1)
	oh, ow := w.Out(x.t.Shape[2], x.t.Shape[3])
	c.shape("y", y, x.t.Shape[0], x.t.Shape[1], oh, ow)
	f := w.full()
	for i := range 2 {
		if f.Pad[i] > f.Dilation[i]*(f.Kernel[i]-1) {
			c.fail("window %+v: padding must be less than the window", w)
		}
	}
}

// inside refuses windows whose every element is in the padding, which have no maximum: with dilation a window can
// straddle the plane.
func (c args) inside(y, x *Array, f backend.Window) {
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
}

// Nearest resamples x, N×C×H×W, to the size of y: y[oy, ox] = x[⌊oy·H/OH⌋, ⌊ox·W/OW⌋].
func Nearest(y, x *Array) {
	c := check("Nearest", y).float(x)
	c.planes(y, x)
	c.do(func() error { return y.d.b.Nearest(y.t, x.t) })
}

// NearestVJP is the transpose of Nearest. dx is overwritten.
func NearestVJP(dx, dy *Array) {
	c := check("NearestVJP", dx).float(dy)
	c.planes(dy, dx)
	c.do(func() error { return dx.d.b.NearestVJP(dx.t, dy.t) })
}

// Bilinear resamples with linear interpolation; align puts corners on corners, else pixels are areas (half-pixel
// centres, clamped at the border).
func Bilinear(y, x *Array, align bool) {
	c := check("Bilinear", y).float(x)
	c.planes(y, x)
	c.do(func() error { return y.d.b.Bilinear(y.t, x.t, align) })
}

// BilinearVJP is the transpose of Bilinear. dx is overwritten.
func BilinearVJP(dx, dy *Array, align bool) {
	c := check("BilinearVJP", dx).float(dy)
	c.planes(dy, dx)
	c.do(func() error { return dx.d.b.BilinearVJP(dx.t, dy.t, align) })
}

func (c args) planes(y, x *Array) {
	c.shape("x", x, -1, -1, -1, -1)
	c.shape("y", y, x.t.Shape[0], x.t.Shape[1], -1, -1)
	if x.t.Shape[2]*x.t.Shape[3] == 0 && y.Len() > 0 {
		c.fail("x has empty planes")
	}
}
