package host

import "coupling/lab/device/internal/backend"

// Convolutions as matrix products: patches of images become columns and back.

// axis is the geometry of rows or columns: sizes, stride, and what each kernel index reads.
type axis struct {
	in, out, stride int
	taps            []tap
}

// tap is a kernel index: the first input index at output 0, and the outputs lo ≤ o < hi for which it reads inside.
type tap struct{ from, lo, hi int }

// axes is the geometry of the rows and columns of planes.
func axes(w backend.Window, in, out []int) (rows, cols axis) {
	n := len(in) - 2
	return newAxis(w, 0, in[n], out[0]), newAxis(w, 1, in[n+1], out[1])
}

func newAxis(w backend.Window, i, in, out int) axis {
	a := axis{in: in, out: out, stride: w.Stride[i]}
	for k := range w.Kernel[i] {
		t := tap{from: k*w.Dilation[i] - w.Pad[i]}
		if t.from < 0 {
			t.lo = (-t.from + a.stride - 1) / a.stride
		}
		if last := in - 1 - t.from; last >= 0 {
			t.hi = min(last/a.stride+1, out)
		}
		t.lo = min(t.lo, t.hi)
		a.taps = append(a.taps, t)
	}
	return a
}

// output is the size of the output of a window.
func output(w backend.Window, in []int) []int {
	out := make([]int, 2)
	for i := range out {
		out[i] = (in[len(in)-2+i]+2*w.Pad[i]-w.Dilation[i]*(w.Kernel[i]-1)-1)/w.Stride[i] + 1
	}
	return out
}

// Im2col writes patches as columns, plane by plane.
func (e *engine[T]) Im2col(col, x tensor, w backend.Window) error {
	to, from := view[T](col), view[T](x)
	rows, cols := axes(w, x.Shape, output(w, x.Shape))
	plane, patch := rows.in*cols.in, len(rows.taps)*len(cols.taps)*rows.out*cols.out
	e.each(x.Shape[0]*x.Shape[1], per(patch), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			unfold(to[i*patch:(i+1)*patch], from[i*plane:(i+1)*plane], rows, cols)
		}
	})
	return nil
}

// unfold writes the patches of one plane.
func unfold[T float32 | float64](col, x []T, rows, cols axis) {
	size := rows.out * cols.out
	for _, r := range rows.taps {
		for _, c := range cols.taps {
			out := col[:size]
			col = col[size:]
			if r.lo > 0 || r.hi < rows.out || c.lo > 0 || c.hi < cols.out {
				clear(out)
			}
			n := c.hi - c.lo
			if n == 0 {
				continue
			}
			for o := r.lo; o < r.hi; o++ {
				src := x[(r.from+o*rows.stride)*cols.in+c.from+c.lo*cols.stride:]
				pick(out[o*cols.out+c.lo:][:n], src, cols.stride)
			}
		}
	}
}

// pick copies every stride-th element.
func pick[T float32 | float64](d, x []T, stride int) {
	if stride == 1 {
		copy(d, x)
		return
	}
	k := 0
	for i := range d {
		d[i] = x[k]
		k += stride
	}
}

// Col2im adds patches up, plane by plane.
func (e *engine[T]) Col2im(x, col tensor, w backend.Window) error {
	to, from := view[T](x), view[T](col)
	rows, cols := axes(w, x.Shape, output(w, x.Shape))
	plane, patch := rows.in*cols.in, len(rows.taps)*len(cols.taps)*rows.out*cols.out
	e.each(x.Shape[0]*x.Shape[1], per(patch), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			fold(to[i*plane:(i+1)*plane], from[i*patch:(i+1)*patch], rows, cols)
		}
	})
	return nil
}

// fold adds the patches of one plane.
func fold[T float32 | float64](x, col []T, rows, cols axis) {
	clear(x)
	size := rows.out * cols.out
	for _, r := range rows.taps {
		for _, c := range cols.taps {
			in := col[:size]
			col = col[size:]
			n := c.hi - c.lo
			if n == 0 {
				continue
			}
			for o := r.lo; o < r.hi; o++ {
				add(x[(r.from+o*rows.stride)*cols.in+c.from+c.lo*cols.stride:], in[o*cols.out+c.lo:][:n], cols.stride)
			}
		}
	}
}

// add adds v to every stride-th element of d.
func add[T float32 | float64](d, v []T, stride int) {
	switch stride {
	case 1:
		d = d[:len(v)]
		for i, v := range v {
			d[i] += v
		}
	case 2:
		d = d[:2*len(v)-1]
		for len(v) >= 4 && len(d) >= 7 {
			d[0] += v[0]
			d[2] += v[1]
			d[4] += v[2]
			d[6] += v[3]
			if len(v) == 4 {
				return
			}
			d, v = d[8:], v[4:]
		}
		for i, v := range v {
			d[2*i] += v
		}
	default:
		for i, v := range v {
			d[i*stride] += v
		}
	}
}
