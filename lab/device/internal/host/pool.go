package host

import (
	"math"
	"slices"

	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
)

// planes calls work for each plane of x, of in elements, whose counterpart has out.
func (e *engine[T]) planes(x tensor, in, out int, work func(i int)) {
	e.each(x.Shape[0]*x.Shape[1], per(max(in, out)), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			work(i)
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

// each calls visit for each run of n elements that one kernel index reads: outputs from o on, and inputs from at on
// in steps of the columns' stride. Of one output, elements come in the order of its window.
func (p pooling) each(visit func(o, at, n int)) {
	for _, r := range p.rows.taps {
		for _, c := range p.cols.taps {
			for y := r.lo; y < r.hi; y++ {
				in := (r.from+y*p.rows.stride)*p.cols.in + c.from + c.lo*p.cols.stride
				if c.hi > c.lo {
					visit(y*p.cols.out+c.lo, in, c.hi-c.lo)
				}
			}
		}
	}
}

// MaxPool is the largest element of each window and its index in the plane: first along rows, then of rows. Of equals
// the first one wins both times, so the first in the window does.
func (e *engine[T]) MaxPool(y, index, x tensor, w backend.Window) error {
	p := newPooling(w, x, y)
	ys, is, xs := view[T](y), view[int32](index), view[T](x)
	e.eachPad(x.Shape[0]*x.Shape[1], per(p.in), func(pad *pad[T], lo, hi int) {
		n := p.rows.in * p.cols.out
		pad.ints = slices.Grow(pad.ints[:0], n)[:n]
		for i := lo; i < hi; i++ {
			t, at := pad.buf(0, n), pad.ints
			alongRows(p, t, at, xs[i*p.in:(i+1)*p.in])
			ofRows(p, ys[i*p.out:(i+1)*p.out], is[i*p.out:(i+1)*p.out], t, at)
		}
	})
	return nil
}

// alongRows writes the largest of each window's part of a row, for all rows of the plane x, and where it is.
func alongRows[T cpu.Float](p pooling, top []T, at []int32, x []T) {
	fill(top, T(math.Inf(-1)))
	fill(at, -1)
	for r := range p.rows.in {
		for _, c := range p.cols.taps {
			o, i := r*p.cols.out, r*p.cols.in+c.from+c.lo*p.cols.stride
			if c.hi > c.lo {
				raise(top[o+c.lo:o+c.hi], at[o+c.lo:o+c.hi], x, i, p.cols.stride)
			}
		}
	}
}

// raise replaces top by the elements of x from i on, in steps, that are larger, or the first ones.
func raise[T cpu.Float](top []T, at []int32, x []T, i, step int) {
	at = at[:len(top)]
	for o, t := range top {
		if v := x[i]; beats(v, t) || at[o] < 0 {
			top[o], at[o] = v, int32(i)
		}
		i += step
	}
}

// beats tells whether v wins over t: it is larger, or NaN where t is not.
func beats[T cpu.Float](v, t T) bool { return v > t || v != v && t == t }

// ofRows writes the largest of the rows of each window.
func ofRows[T cpu.Float](p pooling, y []T, index []int32, top []T, at []int32) {
	fill(y, T(math.Inf(-1)))
	fill(index, -1)
	n := p.cols.out
	for _, r := range p.rows.taps {
		for o := r.lo; o < r.hi; o++ {
			row, best := y[o*n:(o+1)*n], index[o*n:(o+1)*n]
			from := (r.from + o*p.rows.stride) * n
			where := at[from : from+n]
			for c, v := range top[from : from+n] {
				if beats(v, row[c]) || best[c] < 0 {
					row[c], best[c] = v, where[c]
				}
			}
		}
	}
}

// MaxPoolVJP adds each dy to the element that won.
func (e *engine[T]) MaxPoolVJP(dx, dy, index tensor, w backend.Window) error {
	p := newPooling(w, dx, dy)
	dxs, dys, is := view[T](dx), view[T](dy), view[int32](index)
	e.planes(dx, p.in, p.out, func(i int) {
		d := dxs[i*p.in : (i+1)*p.in]
		clear(d)
		for o, v := range dys[i*p.out : (i+1)*p.out] {
			d[is[i*p.out+o]] += v
		}
	})
	return nil
}

// AvgPool is the mean of each window, padding counted.
func (e *engine[T]) AvgPool(y, x tensor, w backend.Window) error {
	p := newPooling(w, x, y)
	ys, xs, part := view[T](y), view[T](x), 1/T(w.Kernel[0]*w.Kernel[1])
	e.planes(x, p.in, p.out, func(i int) {
		y, x := ys[i*p.out:(i+1)*p.out], xs[i*p.in:(i+1)*p.in]
		clear(y)
		p.each(func(o, at, n int) { gatherAdd(y[o:o+n], x[at:], p.cols.stride) })
		e.k.Scale(y, part, y)
	})
	return nil
}

// gatherAdd adds every stride-th element of x to y.
func gatherAdd[T cpu.Float](y, x []T, stride int) {
	for i := range y {
		y[i] += x[i*stride]
	}
}

// AvgPoolVJP spreads each dy evenly.
func (e *engine[T]) AvgPoolVJP(dx, dy tensor, w backend.Window) error {
	p := newPooling(w, dx, dy)
	dxs, dys, part := view[T](dx), view[T](dy), 1/T(w.Kernel[0]*w.Kernel[1])
	e.planes(dx, p.in, p.out, func(i int) {
		d, g := dxs[i*p.in:(i+1)*p.in], dys[i*p.out:(i+1)*p.out]
		clear(d)
		p.each(func(o, at, n int) { add(d[at:], g[o:o+n], p.cols.stride) })
		e.k.Scale(d, part, d)
	})
	return nil
}
