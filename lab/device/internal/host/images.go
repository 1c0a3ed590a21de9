package host

import "coupling/lab/device/internal/backend"

// Convolutions as matrix products: patches of images become columns and back.

// taps is the geometry of one axis: the offset of kernel index i, and for which outputs it lies inside.
type taps struct {
	stride, pad, dilation, in, out int
}

// reach is the first input index of kernel index i, at output 0, and the outputs lo ≤ o < hi that read inside.
func (t taps) reach(i int) (from, lo, hi int) {
	from = i*t.dilation - t.pad
	if from < 0 {
		lo = (-from + t.stride - 1) / t.stride
	}
	if last := t.in - 1 - from; last >= 0 {
		hi = min(last/t.stride+1, t.out)
	}
	return from, min(lo, hi), hi
}

// axes is the geometry of rows and columns of planes in with outputs out.
func axes(w backend.Window, in, out []int) (rows, cols taps) {
	n := len(in)
	rows = taps{w.Stride[0], w.Pad[0], w.Dilation[0], in[n-2], out[0]}
	cols = taps{w.Stride[1], w.Pad[1], w.Dilation[1], in[n-1], out[1]}
	return rows, cols
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
	plane, patch := rows.in*cols.in, w.Kernel[0]*w.Kernel[1]*rows.out*cols.out
	e.each(x.Shape[0]*x.Shape[1], per(patch), func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			unfold(to[i*patch:(i+1)*patch], from[i*plane:(i+1)*plane], w.Kernel, rows, cols)
		}
	})
	return nil
}

// unfold writes the patches of one plane.
func unfold[T float32 | float64](col, x []T, kernel [2]int, rows, cols taps) {
	at := 0
	for i := range kernel[0] {
		fy, y0, y1 := rows.reach(i)
		for j := range kernel[1] {
			fx, x0, x1 := cols.reach(j)
			out := col[at*rows.out*cols.out : (at+1)*rows.out*cols.out]
			clear(out[:y0*cols.out])
			clear(out[y1*cols.out:])
			for y := y0; y < y1; y++ {
				row := out[y*cols.out : (y+1)*cols.out]
				src := x[(fy+y*rows.stride)*cols.in : (fy+y*rows.stride+1)*cols.in]
				clear(row[:x0])
				clear(row[x1:])
				if cols.stride == 1 {
					copy(row[x0:x1], src[fx+x0:])
					continue
				}
				k := fx + x0*cols.stride
				for o := x0; o < x1; o++ {
					row[o] = src[k]
					k += cols.stride
				}
			}
			at++
		}
	}
}

// Col2im adds patches up, plane by plane.
func (e *engine[T]) Col2im(x, col tensor, w backend.Window) error {
	to, from := view[T](x), view[T](col)
	rows, cols := axes(w, x.Shape, output(w, x.Shape))
	plane, patch := rows.in*cols.in, w.Kernel[0]*w.Kernel[1]*rows.out*cols.out
	e.each(x.Shape[0]*x.Shape[1], per(patch), func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			fold(to[i*plane:(i+1)*plane], from[i*patch:(i+1)*patch], w.Kernel, rows, cols)
		}
	})
	return nil
}

// fold adds the patches of one plane.
func fold[T float32 | float64](x, col []T, kernel [2]int, rows, cols taps) {
	clear(x)
	at := 0
	for i := range kernel[0] {
		fy, y0, y1 := rows.reach(i)
		for j := range kernel[1] {
			fx, x0, x1 := cols.reach(j)
			in := col[at*rows.out*cols.out : (at+1)*rows.out*cols.out]
			for y := y0; y < y1; y++ {
				src := in[y*cols.out+x0 : y*cols.out+x1]
				row := x[(fy+y*rows.stride)*cols.in : (fy+y*rows.stride+1)*cols.in]
				k := fx + x0*cols.stride
				for _, v := range src {
					row[k] += v
					k += cols.stride
				}
			}
			at++
		}
	}
}
