package cuda

import (
	"fmt"

	"coupling/lab/device/internal/backend"
)

// window is the struct Window of images.cu.
type window struct {
	H, W, OH, OW, KH, KW, SH, SW, PH, PW, DH, DW  int32
	ByW, ByHW, ByOW, ByOut, ByKW, ByK, BySH, BySW div
}

// planesOf is the window over planes of h×w that gives oh×ow.
func planesOf(h, w, oh, ow int) window {
	return window{
		H: int32(h), W: int32(w), OH: int32(oh), OW: int32(ow),
		ByW: divBy(w), ByHW: divBy(h * w), ByOW: divBy(ow), ByOut: divBy(oh * ow),
	}
}

func windowOf(h, w, oh, ow int, b backend.Window) window {
	g := planesOf(h, w, oh, ow)
	g.KH, g.KW = int32(b.Kernel[0]), int32(b.Kernel[1])
	g.SH, g.SW = int32(b.Stride[0]), int32(b.Stride[1])
	g.PH, g.PW = int32(b.Pad[0]), int32(b.Pad[1])
	g.DH, g.DW = int32(b.Dilation[0]), int32(b.Dilation[1])
	g.ByKW, g.ByK = divBy(b.Kernel[1]), divBy(b.Kernel[0]*b.Kernel[1])
	g.BySH, g.BySW = divBy(b.Stride[0]), divBy(b.Stride[1])
	return g
}

// resample is the window of nearest neighbours, which keeps its divisors where others have the kernel's and stride's.
func resample(h, w, oh, ow int) window {
	g := planesOf(h, w, oh, ow)
	g.ByKW, g.ByK, g.BySH, g.BySW = divBy(oh), divBy(h), divBy(ow), divBy(w)
	return g
}

// planewise launches a kernel over planes: first is the destination, with each elements a plane, and others what goes
// with it. Batches are cut so that flat indices have 31 bits.
func (g *gpu) planewise(name string, w window, planes int, dst backend.Tensor, each int, others []part, extra ...arg) error {
	largest := each
	for _, o := range others {
		largest = max(largest, o.each)
	}
	if largest > g.limits.flat {
		return fmt.Errorf("cuda: %s: a plane has %d elements, more than 2^31", name, largest)
	}
	return g.do(func() error {
		if each == 0 || planes == 0 {
			return nil
		}
		step := min(planes, g.limits.flat/largest)
		for at := 0; at < planes; at += step {
			n := min(step, planes-at) * each
			args := []arg{array(shift(dst, at*each))}
			for _, o := range others {
				args = append(args, array(shift(o.t, at*o.each)))
			}
			args = append(append(args, record(&w), i64(n)), extra...)
			if err := g.each("images", name+suffix(dst.Type), n, args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// part is a tensor with so many elements a plane.
type part struct {
	t    backend.Tensor
	each int
}

func shift(t backend.Tensor, by int) backend.Tensor {
	t.Offset += by
	return t
}

// convolution is the window and sizes between images and patches.
func convolution(col, x backend.Tensor, b backend.Window) (w window, planes, pixels, patches int) {
	s := x.Shape
	oh := (s[2]+2*b.Pad[0]-b.Dilation[0]*(b.Kernel[0]-1)-1)/b.Stride[0] + 1
	ow := (s[3]+2*b.Pad[1]-b.Dilation[1]*(b.Kernel[1]-1)-1)/b.Stride[1] + 1
	return windowOf(s[2], s[3], oh, ow, b), s[0] * s[1], s[2] * s[3], b.Kernel[0] * b.Kernel[1] * oh * ow
}

// im2col writes patches: col[n, (c·kh+i)·kw+j, oy·OW+ox] = x[n, c, oy·s−p+i·d, ox·s−p+j·d], 0 outside.
func (g *gpu) im2col(col, x backend.Tensor, b backend.Window) error {
	w, planes, pixels, patches := convolution(col, x, b)
	return g.planewise("im2col", w, planes, col, patches, []part{{x, pixels}})
}

// col2im adds patches up.
func (g *gpu) col2im(x, col backend.Tensor, b backend.Window) error {
	w, planes, pixels, patches := convolution(col, x, b)
	return g.planewise("col2im", w, planes, x, pixels, []part{{col, patches}})
}

// sizes is the planes of two images and their sizes.
func sizes(x, y backend.Tensor) (planes, in, out int) {
	return x.Shape[0] * x.Shape[1], x.Shape[2] * x.Shape[3], y.Shape[2] * y.Shape[3]
}

// MaxPool is maxima and where they are.
func (g *gpu) MaxPool(y, index, x backend.Tensor, b backend.Window) error {
	planes, in, out := sizes(x, y)
	w := windowOf(x.Shape[2], x.Shape[3], y.Shape[2], y.Shape[3], b)
	return g.planewise("max_pool", w, planes, y, out, []part{{index, out}, {x, in}})
}

// MaxPoolVJP adds gradients where the maxima were.
func (g *gpu) MaxPoolVJP(dx, dy, index backend.Tensor, b backend.Window) error {
	planes, in, out := sizes(dx, dy)
	w := windowOf(dx.Shape[2], dx.Shape[3], dy.Shape[2], dy.Shape[3], b)
	return g.planewise("max_pool_vjp", w, planes, dx, in, []part{{dy, out}, {index, out}})
}

// AvgPool is means of windows.
func (g *gpu) AvgPool(y, x backend.Tensor, b backend.Window) error {
	planes, in, out := sizes(x, y)
	w := windowOf(x.Shape[2], x.Shape[3], y.Shape[2], y.Shape[3], b)
	return g.planewise("avg_pool", w, planes, y, out, []part{{x, in}})
}

// AvgPoolVJP spreads gradients over windows.
func (g *gpu) AvgPoolVJP(dx, dy backend.Tensor, b backend.Window) error {
	planes, in, out := sizes(dx, dy)
	w := windowOf(dx.Shape[2], dx.Shape[3], dy.Shape[2], dy.Shape[3], b)
	return g.planewise("avg_pool_vjp", w, planes, dx, in, []part{{dy, out}})
}

// Nearest resamples.
func (g *gpu) Nearest(y, x backend.Tensor) error {
	planes, in, out := sizes(x, y)
	w := resample(x.Shape[2], x.Shape[3], y.Shape[2], y.Shape[3])
	return g.planewise("nearest", w, planes, y, out, []part{{x, in}})
}

// NearestVJP is its transpose.
func (g *gpu) NearestVJP(dx, dy backend.Tensor) error {
	planes, in, out := sizes(dx, dy)
	w := resample(dx.Shape[2], dx.Shape[3], dy.Shape[2], dy.Shape[3])
	return g.planewise("nearest_vjp", w, planes, dx, in, []part{{dy, out}})
}

// Bilinear resamples with linear interpolation.
func (g *gpu) Bilinear(y, x backend.Tensor, align bool) error {
	planes, in, out := sizes(x, y)
	w := planesOf(x.Shape[2], x.Shape[3], y.Shape[2], y.Shape[3])
	return g.planewise("bilinear", w, planes, y, out, []part{{x, in}}, flag(align))
}

// BilinearVJP is its transpose.
func (g *gpu) BilinearVJP(dx, dy backend.Tensor, align bool) error {
	planes, in, out := sizes(dx, dy)
	w := planesOf(dx.Shape[2], dx.Shape[3], dy.Shape[2], dy.Shape[3])
	return g.planewise("bilinear_vjp", w, planes, dx, in, []part{{dy, out}}, flag(align))
}
