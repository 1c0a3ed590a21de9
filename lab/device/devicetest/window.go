package devicetest

import (
	"fmt"
	"math"

	"coupling/lab/device"
	"coupling/lab/device/devicetest/internal/ref"
)

func windows() []scenario {
	return []scenario{{"Im2col", im2col}, {"MaxPool", maxPool}, {"AvgPool", avgPool}}
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
		all = append(all, plane{2, 3, 16, 16, device.Window{Kernel: [2]int{3, 3}, Pad: [2]int{4, 4}, Dilation: [2]int{4, 4}}}) // RefineNet
	}
	for len(all) < 30 {
		p := plane{n: 1 + k.rng.IntN(3), c: 1 + k.rng.IntN(3), h: 1 + k.rng.IntN(17), w: 1 + k.rng.IntN(17)}
		fits := true
		for i, size := range [2]int{p.h, p.w} {
			w := &p.win
			w.Kernel[i], w.Stride[i], w.Pad[i], w.Dilation[i] = 1+k.rng.IntN(5), 1+k.rng.IntN(3), k.rng.IntN(3), 1+k.rng.IntN(3)
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

func im2col(k *kit) {
	for _, p := range k.planes(false) {
		k.patches(p)
	}
}

// patches: Im2col copies, its transpose adds up to kh·kw elements. Both are tried on data and on one another:
// <Im2col x, c> = <x, Col2im c>.
func (k *kit) patches(p plane) {
	k.Helper()
	x := k.images(p.n, p.c, p.h, p.w)
	shape, want := ref.Im2col(x, p.win)
	col, ax := k.dst(shape...), k.put(x.Data, x.Shape()...)
	device.Im2col(col, ax, p.win)
	k.exact("Im2col "+p.String(), col, func() []float64 { return want })

	c := k.normals(len(want), 1)
	dx, ac := k.dst(x.Shape()...), k.put(c, shape...)
	device.Col2im(dx, ac, p.win)
	k.near("Col2im "+p.String(), dx, sums(p.win.Kernel[0]*p.win.Kernel[1]), func() ref.Result { return ref.Col2im(x, c, p.win) })
	k.adjoint("Im2col "+p.String(), col, ac, ax, dx)
}

// adjoint is <A x, c> = <x, Aᵀ c> as the device sees it, to the roundings of two sums.
func (k *kit) adjoint(what string, ax, c, x, atc *device.Array) {
	k.Helper()
	if !k.judge {
		return
	}
	left, size := k.dot(ax, c)
	right, size2 := k.dot(x, atc)
	if tol := sums(ax.Len()) * k.unit() * (size + size2); !(math.Abs(left-right) <= tol) {
		k.Errorf("%s: <Ax, c> = %v and <x, A'c> = %v: must be equal within %v", what, left, right, tol)
	}
}

func (k *kit) dot(a, b *device.Array) (value, size float64) {
	x, _ := k.take("x", a)
	y, _ := k.take("y", b)
	var s ref.Sum
	for i := range x {
		s.AddProduct(x[i], y[i])
	}
	return s.Value(), s.Size()
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
		k.exact("MaxPool "+p.String(), y, func() []float64 { return want })
		k.exact("MaxPool, index, "+p.String(), ai, func() []float64 {
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
		y, ax := k.dst(shape...), k.put(x.Data, x.Shape()...)
		device.AvgPool(y, ax, p.win)
		k.near("AvgPool "+p.String(), y, c, func() ref.Result { return ref.AvgPool(x, p.win) })
		dy, dx := k.normals(ref.Len(shape), 1), k.dst(x.Shape()...)
		ady := k.put(dy, shape...)
		device.AvgPoolVJP(dx, ady, p.win)
		k.near("AvgPoolVJP "+p.String(), dx, c, func() ref.Result { return ref.AvgPoolVJP(x, dy, p.win) })
		k.adjoint("AvgPool "+p.String(), y, ady, ax, dx)
	}
}
