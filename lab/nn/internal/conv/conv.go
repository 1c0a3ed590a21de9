package conv

import "coupling/lab/device"

// geometry is the sizes of one convolution.
type geometry struct {
	in, out, patch int // channels; elements under the window, of all channels
	before, after  int // positions in a plane
	w              device.Window
}

func measure(x, y *device.Array, w device.Window) geometry {
	g := geometry{in: x.Dim(1), out: y.Dim(1), before: x.Dim(2) * x.Dim(3), after: y.Dim(2) * y.Dim(3), w: w}
	g.patch = g.in * w.Kernel[0] * w.Kernel[1]
	return g
}

// whole says that the window is the image: the patch is x itself.
func (g geometry) whole() bool {
	return g.after == 1 && g.before*g.in == g.patch && g.w.Pad == [2]int{} && g.undilated()
}

// pointwise says that patches are pixels.
func (g geometry) pointwise() bool {
	return g.w.Kernel == [2]int{1, 1} && g.w.Pad == [2]int{} && max(g.w.Stride[0], g.w.Stride[1]) <= 1
}

func (g geometry) undilated() bool { return max(g.w.Dilation[0], g.w.Dilation[1]) <= 1 }

// Apply is y = W ⋆ x.
func Apply(y, x, weight *device.Array, w device.Window) {
	g := measure(x, y, w)
	switch n := x.Dim(0); {
	case g.whole():
		device.Gemm(y.Reshape(n, g.out), 1, x.Reshape(n, g.patch).N(), weight.Reshape(g.out, g.patch).T(), 0)
	case g.narrows():
		g.spread(y, x, weight)
	default:
		m := weight.Reshape(1, g.out, g.patch)
		tiles(x, g.patch*g.after, func(lo, hi int) {
			col, free := g.unfold(x.Rows(lo, hi))
			device.Gemm(y.Rows(lo, hi).Reshape(hi-lo, g.out, g.after), 1, m.N(), col.N(), 0)
			free()
		})
	}
}

// Input is dx = Wᵀ dy.
func Input(dx, dy, weight *device.Array, w device.Window) {
	g := measure(dx, dy, w)
	switch n := dx.Dim(0); {
	case g.whole():
		device.Gemm(dx.Reshape(n, g.patch), 1, dy.Reshape(n, g.out).N(), weight.Reshape(g.out, g.patch).N(), 0)
	case g.narrows():
		g.spreadInput(dx, dy, weight)
	default:
		m := weight.Reshape(1, g.out, g.patch)
		tiles(dx, g.patch*g.after, func(lo, hi int) { g.fold(dx.Rows(lo, hi), dy.Rows(lo, hi), m) })
	}
}

// fold multiplies cotangents and adds their patches up.
func (g geometry) fold(dx, dy, m *device.Array) {
	n := dx.Dim(0)
	dym := dy.Reshape(n, g.out, g.after)
	if g.pointwise() {
		device.Gemm(dx.Reshape(n, g.in, g.before), 1, m.T(), dym.N(), 0)
		return
	}
	col := dx.Device().New(dx.Type(), n, g.patch, g.after)
	device.Gemm(col, 1, m.T(), dym.N(), 0)
	device.Col2im(dx, col, g.w)
	col.Free()
}

// Weight is dW += Σ_n dy_n ⋆ x_n.
func Weight(dw, x, dy *device.Array, w device.Window) {
	g := measure(x, dy, w)
	m := dw.Reshape(g.out, g.patch)
	switch n := x.Dim(0); {
	case g.whole():
		device.Gemm(m, 1, dy.Reshape(n, g.out).T(), x.Reshape(n, g.patch).N(), 1)
	case g.narrows():
		g.spreadWeight(m, x, dy)
	default:
		tiles(x, g.patch*g.after, func(lo, hi int) {
			col, free := g.unfold(x.Rows(lo, hi))
			addProducts(m, dy.Rows(lo, hi).Reshape(hi-lo, g.out, g.after), col)
			free()
		})
	}
}

// Squares is s_n += |dy_n ⋆ x_n|².
func Squares(squares, x, dy *device.Array, w device.Window) {
	g := measure(x, dy, w)
	tiles(x, g.patch*(g.after+g.out), func(lo, hi int) {
		col, free := g.unfold(x.Rows(lo, hi))
		each := x.Device().New(x.Type(), hi-lo, g.out, g.patch)
		device.Gemm(each, 1, dy.Rows(lo, hi).Reshape(hi-lo, g.out, g.after).N(), col.T(), 0)
		free()
		s := x.Device().New(x.Type(), hi-lo, 1)
		device.Reduce(s, each.Reshape(hi-lo, -1), device.SumSquares)
		part := squares.Rows(lo, hi)
		device.Add(part, part, s.Reshape(hi-lo))
		s.Free()
		each.Free()
	})
}

// unfold returns the patches of x, examples × patch × positions, and what frees them.
func (g geometry) unfold(x *device.Array) (col *device.Array, free func()) {
	if g.pointwise() {
		return x.Reshape(x.Dim(0), g.in, g.before), func() {}
	}
	col = x.Device().New(x.Type(), x.Dim(0), g.patch, g.after)
	device.Im2col(col, x, g.w)
	return col, col.Free
}
