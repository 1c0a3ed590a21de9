package host

import (
	"math"
	"slices"
	"unsafe"

	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
)

// planes calls work for each plane of x and its counterpart in y.
func (e *engine[T]) planes(x, y tensor, work func(i int, x, y []T)) {
	n, xs, ys := x.Shape[0]*x.Shape[1], view[T](x), view[T](y)
	in, out := len(xs)/max(n, 1), len(ys)/max(n, 1)
	e.items(n, per(max(in, out)), func(i int) {
		work(i, xs[i*in:(i+1)*in], ys[i*out:(i+1)*out])
	})
}

// pooling is the geometry of a pool.
type pooling struct {
	rows, cols axis
	out        int // elements of a plane of outputs
}

// axis is the geometry of rows or columns: sizes, stride, and what each kernel index reads.
type axis struct {
	in, out, stride int
	taps            []tap
}

// tap is a kernel index: where it reads for output 0, and the outputs lo ≤ o < hi for which it reads inside.
type tap struct{ from, lo, hi int }

func newPooling(w backend.Window, x, y tensor) pooling {
	axis := func(i int) axis {
		a := axis{in: x.Shape[2+i], out: y.Shape[2+i], stride: w.Stride[i]}
		padded := forwardAxis(w, i, a.in, a.out)
		for j, at := range padded.phases[0].offsets {
			lo, hi := padded.phases[0].reading(j, padded.zeros, a.in)
			a.taps = append(a.taps, tap{at - padded.zeros, lo, hi})
		}
		return a
	}
	return pooling{axis(0), axis(1), y.Shape[2] * y.Shape[3]}
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

// MaxPool is the largest element of each window and its index in the plane, the first of equals.
func (e *engine[T]) MaxPool(y, index, x tensor, w backend.Window) {
	p, is := newPooling(w, x, y), view[int32](index)
	at := p.windows()
	e.planes(x, y, func(i int, x, y []T) { largestOf(p, at, y, is[i*p.out:(i+1)*p.out], x) })
}

// largestOf does a plane, given the offsets of each window's elements.
func largestOf[T cpu.Float](p pooling, windows [][]int, y []T, index []int32, x []T) {
	for oy := range p.rows.out {
		for ox := range p.cols.out {
			o := oy*p.cols.out + ox
			at := first(x, oy*p.rows.stride*p.cols.in+ox*p.cols.stride, windows[o])
			y[o], index[o] = x[at], int32(at)
		}
	}
}

// first is where the largest element is among those at the offsets from a place on, the first of equals.
func first[T cpu.Float](x []T, from int, offsets []int) int {
	if len(offsets) == 4 { // windows of 2×2: a tournament
		a, b, c, d := from+offsets[0], from+offsets[1], from+offsets[2], from+offsets[3]
		ka, kb, kc, kd := rank(x[a]), rank(x[b]), rank(x[c]), rank(x[d])
		if kb > ka {
			ka, a = kb, b
		}
		if kd > kc {
			kc, c = kd, d
		}
		if kc > ka {
			a = c
		}
		return a
	}
	best, at := int64(math.MinInt64), 0
	for _, o := range offsets {
		if k := rank(x[from+o]); k > best {
			best, at = k, from+o
		}
	}
	return at
}

// windows is where the elements of each window lie from its origin, which is where it would start
// without padding. Those that lie inside share one list.
func (p pooling) windows() [][]int {
	all := make([][]int, p.out)
	var inner []int
	for oy := range p.rows.out {
		for ox := range p.cols.out {
			if o := oy*p.cols.out + ox; p.rows.covers(oy) && p.cols.covers(ox) {
				if inner == nil {
					inner = p.window(oy, ox)
				}
				all[o] = inner
			} else {
				all[o] = p.window(oy, ox)
			}
		}
	}
	return all
}

// covers reports whether all taps of output o read inside.
func (a axis) covers(o int) bool {
	return !slices.ContainsFunc(a.taps, func(t tap) bool { return o < t.lo || o >= t.hi })
}

// window is the offsets of one.
func (p pooling) window(oy, ox int) (at []int) {
	for _, r := range p.rows.taps {
		for _, c := range p.cols.taps {
			if r.lo <= oy && oy < r.hi && c.lo <= ox && ox < c.hi {
				at = append(at, r.from*p.cols.in+c.from)
			}
		}
	}
	return at
}

// rank orders numbers as integers, −0 as 0 and NaN above all: comparing random floats mispredicts half of the branches.
func rank[T cpu.Float](v T) int64 {
	if v != v {
		return math.MaxInt64
	}
	if v += 0; !is64[T]() {
		b := *(*int32)(unsafe.Pointer(&v))
		return int64(b ^ b>>31&math.MaxInt32)
	}
	b := *(*int64)(unsafe.Pointer(&v))
	return b ^ b>>63&math.MaxInt64
}

// MaxPoolVJP adds each dy to the element that won.
func (e *engine[T]) MaxPoolVJP(dx, dy, index tensor, w backend.Window) {
	is := view[int32](index)
	e.planes(dx, dy, func(i int, d, g []T) {
		clear(d)
		for o, v := range g {
			d[is[i*len(g)+o]] += v
		}
	})
}

// AvgPool is the mean of each window, padding counted.
func (e *engine[T]) AvgPool(y, x tensor, w backend.Window) {
	p, part := newPooling(w, x, y), 1/T(w.Kernel[0]*w.Kernel[1])
	e.planes(x, y, func(_ int, x, y []T) {
		clear(y)
		p.each(func(o, at, n int) { gatherAdd(y[o:o+n], x[at:], p.cols.stride) })
		e.k.Scale(y, part, y)
	})
}

// gatherAdd adds every stride-th element of x to y.
func gatherAdd[T cpu.Float](y, x []T, stride int) {
	for i := range y {
		y[i] += x[i*stride]
	}
}

// scatterAdd adds v to every stride-th element of d.
func scatterAdd[T cpu.Float](d, v []T, stride int) {
	for i, v := range v {
		d[i*stride] += v
	}
}

// AvgPoolVJP spreads each dy evenly.
func (e *engine[T]) AvgPoolVJP(dx, dy tensor, w backend.Window) {
	p, part := newPooling(w, dx, dy), 1/T(w.Kernel[0]*w.Kernel[1])
	e.planes(dx, dy, func(_ int, d, g []T) {
		clear(d)
		p.each(func(o, at, n int) { scatterAdd(d[at:], g[o:o+n], p.cols.stride) })
		e.k.Scale(d, part, d)
	})
}
