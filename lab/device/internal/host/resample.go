package host

import "math"

// A blend is the two input indices of an output index along one axis, and the weight of the second.
type blend struct {
	a, b int
	t    float64
}

// nearest is ⌊o·in/out⌋.
func nearest(in, out int) []int {
	l := make([]int, out)
	for o := range l {
		l[o] = o * in / out
	}
	return l
}

// linear puts corners on corners, or pixels on half-integers with clamping at the border.
func linear(in, out int, align bool) []blend {
	l := make([]blend, out)
	for o := range l {
		pos := 0.0
		switch {
		case !align:
			pos = max((float64(o)+0.5)*(float64(in)/float64(out))-0.5, 0)
		case out > 1:
			pos = float64(o) * (float64(in-1) / float64(out-1))
		}
		low := math.Floor(pos)
		a := min(int(low), in-1)
		l[o] = blend{a, min(a+1, in-1), pos - low}
	}
	return l
}

// Nearest copies the element at or before each position.
func (e *engine[T]) Nearest(y, x tensor) {
	rows, cols := nearest(x.Shape[2], y.Shape[2]), nearest(x.Shape[3], y.Shape[3])
	w := x.Shape[3]
	e.planes(x, y, func(_ int, x, y []T) {
		for r, at := range rows {
			from, to := x[at*w:][:w], y[r*len(cols):][:len(cols)]
			for c, at := range cols {
				to[c] = from[at]
			}
		}
	})
}

// NearestVJP is the transpose.
func (e *engine[T]) NearestVJP(dx, dy tensor) {
	rows, cols := nearest(dx.Shape[2], dy.Shape[2]), nearest(dx.Shape[3], dy.Shape[3])
	w := dx.Shape[3]
	e.planes(dx, dy, func(_ int, d, g []T) {
		clear(d)
		for r, at := range rows {
			to, from := d[at*w:][:w], g[r*len(cols):][:len(cols)]
			for c := 0; c < len(from); {
				at := cols[c]
				sum := to[at]
				for ; c < len(from) && cols[c] == at; c++ {
					sum += from[c]
				}
				to[at] = sum
			}
		}
	})
}

// Bilinear interpolates along rows and columns.
func (e *engine[T]) Bilinear(y, x tensor, align bool) {
	rows, cols := linear(x.Shape[2], y.Shape[2], align), linear(x.Shape[3], y.Shape[3], align)
	w := x.Shape[3]
	e.planes(x, y, func(_ int, x, y []T) {
		for r, v := range rows {
			up, down, t := x[v.a*w:(v.a+1)*w], x[v.b*w:(v.b+1)*w], T(v.t)
			row := y[r*len(cols) : (r+1)*len(cols)]
			for c, h := range cols {
				s := T(h.t)
				top := up[h.a] + s*(up[h.b]-up[h.a])
				if t == 0 {
					row[c] = top
					continue
				}
				row[c] = top + t*(down[h.a]+s*(down[h.b]-down[h.a])-top)
			}
		}
	})
}

// BilinearVJP is the transpose.
func (e *engine[T]) BilinearVJP(dx, dy tensor, align bool) {
	rows, cols := linear(dx.Shape[2], dy.Shape[2], align), linear(dx.Shape[3], dy.Shape[3], align)
	w := dx.Shape[3]
	e.planes(dx, dy, func(_ int, d, g []T) {
		clear(d)
		for r, v := range rows {
			up, down, t := d[v.a*w:(v.a+1)*w], d[v.b*w:(v.b+1)*w], T(v.t)
			for c, h := range cols {
				v, s := g[r*len(cols)+c], T(h.t)
				if t == 0 && s == 0 {
					up[h.a] += v
					continue
				}
				up[h.a] += (1 - t) * (1 - s) * v
				up[h.b] += (1 - t) * s * v
				down[h.a] += t * (1 - s) * v
				down[h.b] += t * s * v
			}
		}
	})
}
