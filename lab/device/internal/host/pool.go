package host

import (
	"math"

	"coupling/lab/device/internal/backend"
)

// planes calls work for each plane of x with size in and its counterpart of size out.
func (e *engine[T]) planes(x tensor, in, out int, work func(i int, in, out [2]int)) {
	e.each(x.Shape[0]*x.Shape[1], per(max(in, out)), func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			work(i, [2]int{i * in, (i + 1) * in}, [2]int{i * out, (i + 1) * out})
		}
	})
}

// pooling is the geometry of a pool.
type pooling struct {
	rows, cols axis
	in, out    int // elements of a plane
}

func newPooling(w backend.Window, x, y tensor) pooling {
	rows, cols := axes(w, x.Shape, y.Shape[2:])
	return pooling{rows, cols, rows.in * cols.in, rows.out * cols.out}
}

// each calls visit with the output's index and the index inside the plane of each element of each window. The order
// within a window is that of its elements.
func (p pooling) each(visit func(o, at int)) {
	for _, r := range p.rows.taps {
		for _, c := range p.cols.taps {
			for y := r.lo; y < r.hi; y++ {
				o, at := y*p.cols.out, (r.from+y*p.rows.stride)*p.cols.in+c.from
				for x := c.lo; x < c.hi; x++ {
					visit(o+x, at+x*p.cols.stride)
				}
			}
		}
	}
}

// MaxPool is the largest element of each window and its index in the plane.
func (e *engine[T]) MaxPool(y, index, x tensor, w backend.Window) error {
	p := newPooling(w, x, y)
	ys, is, xs := view[T](y), view[int32](index), view[T](x)
	e.planes(x, p.in, p.out, func(_ int, in, out [2]int) {
		y, at, x := ys[out[0]:out[1]], is[out[0]:out[1]], xs[in[0]:in[1]]
		fill(at, -1)
		fill(y, T(math.Inf(-1)))
		p.each(func(o, i int) {
			if v := x[i]; at[o] < 0 || v > y[o] || v != v && y[o] == y[o] {
				y[o], at[o] = v, int32(i)
			}
		})
	})
	return nil
}

// MaxPoolVJP adds each dy to the element that won.
func (e *engine[T]) MaxPoolVJP(dx, dy, index tensor, w backend.Window) error {
	p := newPooling(w, dx, dy)
	dxs, dys, is := view[T](dx), view[T](dy), view[int32](index)
	e.planes(dx, p.in, p.out, func(_ int, in, out [2]int) {
		d := dxs[in[0]:in[1]]
		clear(d)
		for o, v := range dys[out[0]:out[1]] {
			d[is[out[0]+o]] += v
		}
	})
	return nil
}

// AvgPool is the mean of each window, padding counted.
func (e *engine[T]) AvgPool(y, x tensor, w backend.Window) error {
	p := newPooling(w, x, y)
	ys, xs, share := view[T](y), view[T](x), 1/T(w.Kernel[0]*w.Kernel[1])
	e.planes(x, p.in, p.out, func(_ int, in, out [2]int) {
		y, x := ys[out[0]:out[1]], xs[in[0]:in[1]]
		clear(y)
		p.each(func(o, i int) { y[o] += x[i] })
		e.k.Scale(y, share, y)
	})
	return nil
}

// AvgPoolVJP spreads each dy evenly.
func (e *engine[T]) AvgPoolVJP(dx, dy tensor, w backend.Window) error {
	p := newPooling(w, dx, dy)
	dxs, dys, share := view[T](dx), view[T](dy), 1/T(w.Kernel[0]*w.Kernel[1])
	e.planes(dx, p.in, p.out, func(_ int, in, out [2]int) {
		d, g := dxs[in[0]:in[1]], dys[out[0]:out[1]]
		clear(d)
		p.each(func(o, i int) { d[i] += g[o] })
		e.k.Scale(d, share, d)
	})
	return nil
}
