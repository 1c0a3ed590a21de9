package cuda

import (
	"fmt"
	"math"

	"coupling/lab/device/internal/backend"
)

// window is the struct Window of images.cu.
type window struct {
	H, W, OH, OW, KH, KW, SH, SW, PH, PW, DH, DW  int32
	TH, TW, UH, UW                                int32
	ByW, ByHW, ByOW, ByOut, ByKW, ByK, BySH, BySW div
}

// planesOf is the window over planes of h×w that gives oh×ow.
func planesOf(h, w, oh, ow int) window {
	return window{
		H: int32(h), W: int32(w), OH: int32(oh), OW: int32(ow),
		ByW: divBy(w), ByHW: divBy(h * w), ByOW: divBy(ow), ByOut: divBy(oh * ow),
	}
}

// between is planesOf the images x and y.
func between(x, y tensor) window {
	return planesOf(x.Shape[2], x.Shape[3], y.Shape[2], y.Shape[3])
}

// slides adds the kernel that slides over the planes.
func (g window) slides(b backend.Window) window {
	g.KH, g.KW = int32(b.Kernel[0]), int32(b.Kernel[1])
	g.SH, g.SW = int32(b.Stride[0]), int32(b.Stride[1])
	g.PH, g.PW = int32(b.Pad[0]), int32(b.Pad[1])
	g.DH, g.DW = int32(b.Dilation[0]), int32(b.Dilation[1])
	g.TH, g.UH = coprime(g.SH, g.DH)
	g.TW, g.UW = coprime(g.SW, g.DW)
	g.ByKW, g.ByK = divBy(b.Kernel[1]), divBy(b.Kernel[0]*b.Kernel[1])
	g.BySH, g.BySW = divBy(b.Stride[0]), divBy(b.Stride[1])
	return g
}

// coprime is a and b over their greatest common divisor.
func coprime(a, b int32) (_, _ int32) {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x, b / x
}

// resample is the window of nearest neighbours, which keeps its divisors where others have the kernel's and stride's.
func resample(x, y tensor) window {
	g := between(x, y)
	g.ByKW, g.ByK = divBy(y.Shape[2]), divBy(x.Shape[2])
	g.BySH, g.BySW = divBy(y.Shape[3]), divBy(x.Shape[3])
	return g
}

// planewise launches a kernel over the planes of dst, with others. Batches are cut so that flat indices have 31 bits.
func (g *gpu) planewise(name string, w window, dst part, others []part, extra ...any) {
	largest := dst.each
	for _, o := range others {
		largest = max(largest, o.each)
	}
	if largest > g.limits.flat {
		g.keep(fmt.Errorf("cuda: %s: a plane has %d elements, more than 2^31", name, largest))
	}
	if dst.t.Len() == 0 || g.err != nil {
		return
	}
	planes, step := dst.t.Len()/dst.each, g.limits.flat/largest
	for at := 0; at < planes; at += step {
		n := min(step, planes-at) * dst.threads
		args := []any{shift(dst.t, at*dst.each)}
		for _, o := range others {
			args = append(args, shift(o.t, at*o.each))
		}
		g.eachOf("images", name, dst.t, n, append(append(args, record(&w), n), extra...)...)
	}
}

// part is a tensor with so many elements a plane, and threads for them.
type part struct {
	t             tensor
	each, threads int
}

// images is a tensor N×C×H×W as a part.
func images(t tensor) part {
	each := t.Shape[2] * t.Shape[3]
	return part{t, each, each}
}

func shift(t tensor, by int) tensor {
	t.Offset += by
	return t
}

// patches is the window from images x to their patches col, and col by planes of x.
func patches(col, x tensor, b backend.Window) (window, part) {
	s := x.Shape
	oh := (s[2]+2*b.Pad[0]-b.Dilation[0]*(b.Kernel[0]-1)-1)/b.Stride[0] + 1
	ow := (s[3]+2*b.Pad[1]-b.Dilation[1]*(b.Kernel[1]-1)-1)/b.Stride[1] + 1
	taps, runs := b.Kernel[0]*b.Kernel[1], (oh*ow+3)/4
	return planesOf(s[2], s[3], oh, ow).slides(b), part{col, taps * oh * ow, taps * runs}
}

// im2col writes patches: col[n, (c·kh+i)·kw+j, oy·OW+ox] = x[n, c, oy·s−p+i·d, ox·s−p+j·d], 0 outside.
func (g *gpu) im2col(col, x tensor, b backend.Window) {
	w, to := patches(col, x, b)
	w.BySH = divBy((int(w.OH)*int(w.OW) + 3) / 4)
	g.planewise("im2col", w, to, []part{images(x)})
}

// col2im adds patches up.
func (g *gpu) col2im(x, col tensor, b backend.Window) {
	w, from := patches(col, x, b)
	g.planewise("col2im", w, images(x), []part{from})
}

// MaxPool is maxima and where they are.
func (g *gpu) MaxPool(y, index, x tensor, b backend.Window) {
	g.planewise("max_pool", between(x, y).slides(b), images(y), []part{images(index), images(x)})
}

// MaxPoolVJP adds gradients where the maxima were.
func (g *gpu) MaxPoolVJP(dx, dy, index tensor, b backend.Window) {
	g.planewise("max_pool_vjp", between(dx, dy).slides(b), images(dx), []part{images(dy), images(index)})
}

// AvgPool is means of windows.
func (g *gpu) AvgPool(y, x tensor, b backend.Window) {
	g.planewise("avg_pool", between(x, y).slides(b), images(y), []part{images(x)})
}

// AvgPoolVJP spreads gradients over windows.
func (g *gpu) AvgPoolVJP(dx, dy tensor, b backend.Window) {
	g.planewise("avg_pool_vjp", between(dx, dy).slides(b), images(dx), []part{images(dy)})
}

// Nearest resamples.
func (g *gpu) Nearest(y, x tensor) {
	g.planewise("nearest", resample(x, y), images(y), []part{images(x)})
}

// NearestVJP is its transpose.
func (g *gpu) NearestVJP(dx, dy tensor) {
	g.planewise("nearest_vjp", resample(dx, dy), images(dx), []part{images(dy)})
}

// Bilinear resamples with linear interpolation.
func (g *gpu) Bilinear(y, x tensor, align bool) {
	w, to := between(x, y), images(y)
	to.threads = (to.each + 3) / 4
	w.BySH = divBy(to.threads)
	g.bilinear("bilinear", w, to, images(x), align)
}

// BilinearVJP is its transpose.
func (g *gpu) BilinearVJP(dx, dy tensor, align bool) {
	g.bilinear("bilinear_vjp", between(dx, dy), images(dx), images(dy), align)
}

// bilinear launches a kernel whose window has the denominators of places where others have the kernel's divisors.
func (g *gpu) bilinear(name string, w window, dst, src part, align bool) {
	denominator := func(in, out int32) int {
		switch {
		case 2*int(in)*int(out) > math.MaxInt32:
			return 0
		case align:
			return max(1, int(out)-1)
		}
		return max(1, 2*int(out))
	}
	y, x := denominator(w.H, w.OH), denominator(w.W, w.OW)
	if y*x == 0 {
		g.keep(fmt.Errorf("cuda: %s: %d×%d to %d×%d: an axis is too long", name, w.H, w.W, w.OH, w.OW))
		return
	}
	w.ByKW, w.ByK = divBy(y), divBy(x)
	g.planewise(name, w, dst, []part{src}, align, 1/float64(y), 1/float64(x))
}
