package devicetest

import (
	"fmt"
	"math"
	"sync"

	"coupling/lab/device"
	"coupling/lab/device/devicetest/internal/ref"
)

func windows() []scenario {
	return []scenario{{"Conv", convolutions}, {"MaxPool", maxPool}, {"AvgPool", avgPool}}
}

// images are random pixels.
func (k *kit) images(n, c, h, w int) ref.Images {
	return ref.Images{N: n, C: c, H: h, W: w, Data: k.normals(n*c*h*w, 1)}
}

// plane is a geometry: a window and the sizes it slides over.
type plane struct {
	n, c, h, w int
	win        device.Window
}

func (p plane) String() string {
	return fmt.Sprintf("%d×%d×%d×%d by %+v", p.n, p.c, p.h, p.w, p.win)
}

// planes are the windows of known networks and random ones: odd and even, not square, strided, padded, dilated. For
// pooling the padding is less than the window, and some element of each window inside.
func (k *kit) planes(pooling bool) []plane {
	all := []plane{
		{2, 3, 8, 8, device.SquareWindow(4, 2, 1)}, // DCGAN
		{1, 2, 28, 28, device.SquareWindow(5, 1, 2)},
		{2, 3, 7, 7, device.SquareWindow(3, 1, 1)},
		{2, 1, 9, 5, device.SquareWindow(2, 2, 0)},
		{1, 3, 5, 6, device.SquareWindow(1, 1, 0)},
		{2, 2, 1, 1, device.SquareWindow(1, 3, 0)},
		{1, 1, 4, 4, device.Window{Kernel: [2]int{4, 4}}}, // the whole plane, zero strides
		{0, 2, 5, 5, device.SquareWindow(3, 1, 1)},
		{1, 17, 6, 35, device.SquareWindow(3, 2, 1)},
	}
	if !pooling {
		// RefineNet
		all = append(all,
			plane{2, 3, 16, 16, device.Window{Kernel: [2]int{3, 3}, Pad: [2]int{4, 4}, Dilation: [2]int{4, 4}}})
	}
	for len(all) < 30 {
		p := plane{n: 1 + k.rng.IntN(3), c: 1 + k.rng.IntN(3), h: 1 + k.rng.IntN(17), w: 1 + k.rng.IntN(17)}
		fits := true
		for i, size := range [2]int{p.h, p.w} {
			w := &p.win
			w.Kernel[i], w.Stride[i], w.Pad[i], w.Dilation[i] = 1+k.rng.IntN(5), 1+k.rng.IntN(3), k.rng.IntN(3),
				1+k.rng.IntN(3)
			span := w.Dilation[i]*(w.Kernel[i]-1) + 1
			fits = fits && span <= size+2*w.Pad[i]
			if pooling {
				fits = fits && w.Pad[i] < span && (w.Dilation[i] == 1 || w.Pad[i] == 0)
			}
		}
		if fits {
			all = append(all, p)
		}
	}
	return all
}

func convolutions(k *kit) {
	for _, p := range k.planes(false) {
		k.convolution(p, 1+k.rng.IntN(5))
	}
	// Strips of channels and groups of windows of every length, whole and not.
	for _, c := range [][3]int{{33, 70, 5}, {16, 48, 8}, {5, 64, 3}, {8, 17, 13}} {
		k.convolution(plane{2, c[0], c[2], c[2], device.SquareWindow(3, 1, 1)}, c[1])
	}
	k.convolution(plane{3, 9, 1, 1, device.SquareWindow(1, 1, 0)}, 20)
	k.convolution(plane{2, 12, 9, 10, device.SquareWindow(7, 2, 3)}, 6)
	k.convolution(plane{2, 6, 40, 39, device.SquareWindow(5, 1, 2)}, 3)
	// Few channels made of many, forward and back.
	k.convolution(plane{3, 11, 9, 8, device.SquareWindow(3, 1, 1)}, 3)
	k.convolution(plane{2, 2, 12, 14, device.SquareWindow(5, 1, 2)}, 9)
	// Small images with much padding, in batches that groups do not divide.
	k.convolution(plane{14, 18, 4, 4, device.SquareWindow(3, 1, 1)}, 40)
	k.convolution(plane{11, 9, 2, 3, device.SquareWindow(3, 1, 1)}, 33)
	k.convolution(plane{13, 16, 7, 6, device.SquareWindow(4, 2, 1)}, 33)
	k.convolution(plane{9, 7, 5, 9, device.SquareWindow(7, 1, 3)}, 20)
}

// convolution holds Conv and its transposes to the definition, whose sums have the same terms: they are transposes of
// one another. The gradient of the weight is added.
func (k *kit) convolution(p plane, out int) {
	k.Helper()
	x := k.images(p.n, p.c, p.h, p.w)
	oh, ow := p.win.Out(p.h, p.w)
	dy := k.images(p.n, out, oh, ow)
	area := p.win.Kernel[0] * p.win.Kernel[1]
	shape := []int{out, p.c, p.win.Kernel[0], p.win.Kernel[1]}
	weight, before := k.normals(ref.Len(shape), 1), k.normals(ref.Len(shape), 1)
	ax, ay, aw := k.put(x.Data, x.Shape()...), k.put(dy.Data, dy.Shape()...), k.put(weight, shape...)

	y, dx, dw, squares := k.dst(dy.Shape()...), k.dst(x.Shape()...), k.put(before, shape...),
		k.put(make([]float64, p.n), p.n)
	device.Conv(y, ax, aw, p.win)
	device.ConvInput(dx, ay, aw, p.win)
	device.ConvWeight(dw, ax, ay, p.win)
	device.ConvSquares(squares, ax, ay, p.win)
	c := sync.OnceValue(func() ref.Convolution { return ref.NewConvolution(x, dy, weight, before, p.win) })
	what := fmt.Sprintf(" %v to %d channels", p, out)
	k.near("Conv"+what, y, sums(p.c*area), func() ref.Result { return c().Y })
	k.near("ConvInput"+what, dx, sums(out*area), func() ref.Result { return c().DX })
	k.near("ConvWeight"+what, dw, sums(1+p.n*oh*ow), func() ref.Result { return c().DW })
	k.near("ConvSquares"+what, squares, sums(oh*ow)+sums(ref.Len(shape)), func() ref.Result { return c().Squares })
}

// maxPool has ties: of equals the first wins. Then everything is negative, so that padding, were it zero, would win;
// and planes of −Inf, which still have a first element.
func maxPool(k *kit) {
	for i, p := range k.planes(true) {
		x := k.images(p.n, p.c, p.h, p.w)
		for j, v := range x.Data {
			switch i % 3 {
			case 0:
				x.Data[j] = math.Round(v)
			case 1:
				x.Data[j] = -1 - math.Abs(v)
				x.Data[j] = k.round(x.Data[j])
			case 2:
				if k.rng.IntN(3) > 0 {
					x.Data[j] = math.Inf(-1)
				}
			}
		}
		want, index := ref.MaxPool(x, p.win)
		shape := []int{p.n, p.c, ref.OutSize(p.h, p.win, 0), ref.OutSize(p.w, p.win, 1)}
		y, ai := k.dst(shape...), k.place(device.Int32, shape)
		device.MaxPool(y, ai, k.put(x.Data, x.Shape()...), p.win)
		k.exact("MaxPool "+p.String(), y, want)
		k.exactBy("MaxPool, index, "+p.String(), ai, func() []float64 {
			f := make([]float64, len(index))
			for i, v := range index {
				f[i] = float64(v)
			}
			return f
		})
		dy, dx := k.normals(len(want), 1), k.dst(x.Shape()...)
		device.MaxPoolVJP(dx, k.put(dy, shape...), k.ints(index, shape...), p.win)
		k.near("MaxPoolVJP "+p.String(), dx, sums(p.win.Kernel[0]*p.win.Kernel[1]),
			func() ref.Result { return ref.MaxPoolVJP(x, dy, index, p.win) })
	}
}

func avgPool(k *kit) {
	for _, p := range k.planes(true) {
		x := k.images(p.n, p.c, p.h, p.w)
		shape := []int{p.n, p.c, ref.OutSize(p.h, p.win, 0), ref.OutSize(p.w, p.win, 1)}
		c := 2 + sums(p.win.Kernel[0]*p.win.Kernel[1])
		y, dx := k.dst(shape...), k.dst(x.Shape()...)
		device.AvgPool(y, k.put(x.Data, x.Shape()...), p.win)
		k.near("AvgPool "+p.String(), y, c, func() ref.Result { return ref.AvgPool(x, p.win) })
		dy := k.normals(ref.Len(shape), 1)
		device.AvgPoolVJP(dx, k.put(dy, shape...), p.win)
		k.near("AvgPoolVJP "+p.String(), dx, c, func() ref.Result { return ref.AvgPoolVJP(x, dy, p.win) })
	}
}
