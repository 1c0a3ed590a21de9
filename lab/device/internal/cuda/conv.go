package cuda

import "coupling/lab/device/internal/backend"

// Convolutions as matrix products, with patches of some examples in memory at a time. There are
// three ways. A window that is as large as the image meets it once: one product does all examples.
// Where there are fewer channels behind the window than before it, pixels are multiplied first and
// their patches added up (spread); otherwise patches are unfolded first and multiplied.

// geometry is the sizes of one convolution.
type geometry struct {
	g              *gpu
	in, out, patch int // channels; elements under the window, of all channels
	before, after  int // positions in a plane
	w              backend.Window
}

func (g *gpu) measure(x, y tensor, w backend.Window) geometry {
	s := geometry{
		g:      g,
		in:     x.Shape[1],
		out:    y.Shape[1],
		before: x.Shape[2] * x.Shape[3],
		after:  y.Shape[2] * y.Shape[3],
		w:      w,
	}
	s.patch = s.in * s.taps()
	return s
}

// taps is the number of weights for a pair of channels.
func (s geometry) taps() int { return s.w.Kernel[0] * s.w.Kernel[1] }

// whole reports whether the window is the image: the patch is x itself.
func (s geometry) whole() bool {
	return s.after == 1 && s.before*s.in == s.patch && s.w.Pad == [2]int{} && s.w.Dilation == [2]int{1, 1}
}

// pointwise reports whether patches are pixels.
func (s geometry) pointwise() bool {
	return s.w.Kernel == [2]int{1, 1} && s.w.Pad == [2]int{} && s.w.Stride == [2]int{1, 1}
}

// Conv is y = W ⋆ x.
func (g *gpu) Conv(y, x, weight tensor, w backend.Window) {
	s := g.measure(x, y, w)
	n := x.Shape[0]
	switch {
	case s.whole():
		g.Gemm(as(y, n, s.out), 1, as(x, n, s.patch), false, as(weight, s.out, s.patch), true, 0)
		return
	case s.narrowsOf():
		s.spread(y, x, weight)
		return
	}
	s.tiles(x, s.patch*s.after, func(lo, hi int) {
		g.Gemm(as(rowsOf(y, lo, hi), hi-lo, s.out, s.after), 1, as(weight, 1, s.out, s.patch), false,
			s.unfold(rowsOf(x, lo, hi)), false, 0)
	})
}

// ConvInput is dx = Wᵀ dy.
func (g *gpu) ConvInput(dx, dy, weight tensor, w backend.Window) {
	s := g.measure(dx, dy, w)
	n := dx.Shape[0]
	switch {
	case s.whole():
		g.Gemm(as(dx, n, s.patch), 1, as(dy, n, s.out), false, as(weight, s.out, s.patch), false, 0)
		return
	case s.narrowsOf():
		s.spreadInput(dx, dy, weight)
		return
	}
	s.tiles(dx, s.patch*s.after, func(lo, hi int) {
		m, d := as(weight, 1, s.out, s.patch), as(rowsOf(dy, lo, hi), hi-lo, s.out, s.after)
		if s.pointwise() {
			g.Gemm(as(rowsOf(dx, lo, hi), hi-lo, s.in, s.before), 1, m, true, d, false, 0)
			return
		}
		col := g.borrowTensor(dx.Type, hi-lo, s.patch, s.after)
		g.Gemm(col, 1, m, true, d, false, 0)
		g.col2im(rowsOf(dx, lo, hi), col, w)
	})
}

// ConvWeight is dw += Σ_n dy_n ⋆ x_n.
func (g *gpu) ConvWeight(dw, x, dy tensor, w backend.Window) {
	s := g.measure(x, dy, w)
	n, m := x.Shape[0], as(dw, s.out, s.patch)
	switch {
	case s.whole():
		g.Gemm(m, 1, as(dy, n, s.out), true, as(x, n, s.patch), false, 1)
		return
	case s.narrowsOf():
		s.spreadWeight(m, x, dy)
		return
	}
	s.tiles(x, s.patch*s.after, func(lo, hi int) {
		s.addProducts(m, as(rowsOf(dy, lo, hi), hi-lo, s.out, s.after), s.unfold(rowsOf(x, lo, hi)))
	})
}

// ConvSquares is squares_n += |dy_n ⋆ x_n|².
func (g *gpu) ConvSquares(squares, x, dy tensor, w backend.Window) {
	s := g.measure(x, dy, w)
	s.tiles(x, s.patch*(s.after+s.out), func(lo, hi int) {
		n := hi - lo
		each, sums := g.borrowTensor(x.Type, n, s.out, s.patch), g.borrowTensor(x.Type, n, 1)
		part := rowsOf(squares, lo, hi)
		g.Gemm(each, 1, as(rowsOf(dy, lo, hi), n, s.out, s.after), false, s.unfold(rowsOf(x, lo, hi)), true, 0)
		g.Reduce(sums, as(each, n, s.out*s.patch), backend.SumSquares)
		g.Combine(part, part, as(sums, n), backend.Add)
	})
}

// unfold returns the patches of x, examples × patch × positions.
func (s geometry) unfold(x tensor) tensor {
	n := x.Shape[0]
	if s.pointwise() {
		return as(x, n, s.in, s.before)
	}
	col := s.g.borrowTensor(x.Type, n, s.patch, s.after)
	s.g.im2col(col, x, s.w)
	return col
}

// tiles cuts the examples of x into runs that hold at most a chunk of memory when each takes so many elements.
func (s geometry) tiles(x tensor, elements int, do func(lo, hi int)) {
	n := x.Shape[0]
	step := max(1, s.g.limits.chunk/(max(1, elements)*x.Type.Size()))
	for lo := 0; lo < n; lo += step {
		s.g.round(func() { do(lo, min(lo+step, n)) })
	}
}

// addProducts is dst += Σ_n a_n·b_nᵀ with dst m×k, a n×m×p and b n×k×p: many small launches would cost more than moving
// the data so that one product does it.
func (s geometry) addProducts(dst, a, b tensor) {
	n, m, p, k := a.Shape[0], a.Shape[1], a.Shape[2], b.Shape[1]
	if n == 1 {
		s.g.Gemm(dst, 1, as(a, m, p), false, as(b, k, p), true, 1)
		return
	}
	at, bt := s.g.borrowTensor(a.Type, m, n, p), s.g.borrowTensor(b.Type, k, n, p)
	s.g.Permute(at, a, []int{1, 0, 2})
	s.g.Permute(bt, b, []int{1, 0, 2})
	s.g.Gemm(dst, 1, as(at, m, n*p), false, as(bt, k, n*p), true, 1)
}

// as is t in another shape.
func as(t tensor, shape ...int) tensor {
	t.Shape = shape
	return t
}
