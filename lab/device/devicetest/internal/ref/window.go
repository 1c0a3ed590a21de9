package ref

import (
	"math"

	"coupling/lab/device"
)

// Images is N×C×H×W.
type Images struct {
	N, C, H, W int
	Data       []float64
}

// Shape is N, C, H, W.
func (m Images) Shape() []int { return []int{m.N, m.C, m.H, m.W} }

// taps calls f for every output position, kernel position and plane with the position read, −1 where that is padding.
// plane counts N·C; out is oy·OW + ox, tap is i·kw + j.
func taps(m Images, w device.Window, f func(plane, out, tap, at int)) (oh, ow int) {
	stride, dilation := w.Stride, w.Dilation
	for i := range 2 {
		stride[i], dilation[i] = max(1, stride[i]), max(1, dilation[i])
	}
	oh, ow = OutSize(m.H, w, 0), OutSize(m.W, w, 1)
	for plane := range m.N * m.C {
		for out := range oh * ow {
			for tap := range w.Kernel[0] * w.Kernel[1] {
				y := out/ow*stride[0] - w.Pad[0] + tap/w.Kernel[1]*dilation[0]
				x := out%ow*stride[1] - w.Pad[1] + tap%w.Kernel[1]*dilation[1]
				at := -1
				if 0 <= y && y < m.H && 0 <= x && x < m.W {
					at = y*m.W + x
				}
				f(plane, out, tap, at)
			}
		}
	}
	return oh, ow
}

// OutSize counts, by walking, how often the window fits along an axis of n.
func OutSize(n int, w device.Window, axis int) int {
	last := max(1, w.Dilation[axis]) * (w.Kernel[axis] - 1) // of the window's first element
	count := 0
	for start := -w.Pad[axis]; start+last < n+w.Pad[axis]; start += max(1, w.Stride[axis]) {
		count++
	}
	return count
}

// Im2col is N × C·kh·kw × OH·OW.
func Im2col(m Images, w device.Window) (shape []int, col []float64) {
	oh, ow := OutSize(m.H, w, 0), OutSize(m.W, w, 1)
	k := w.Kernel[0] * w.Kernel[1]
	col = make([]float64, m.N*m.C*k*oh*ow)
	taps(m, w, func(plane, out, tap, at int) {
		if at >= 0 {
			col[(plane*k+tap)*oh*ow+out] = m.Data[plane*m.H*m.W+at]
		}
	})
	return []int{m.N, m.C * k, oh * ow}, col
}

// Col2im adds patches up to images of m's size.
func Col2im(m Images, col []float64, w device.Window) Result {
	n := OutSize(m.H, w, 0) * OutSize(m.W, w, 1)
	k := w.Kernel[0] * w.Kernel[1]
	return m.collect(func(add func(plane, at int, v float64)) {
		taps(m, w, func(plane, out, tap, at int) { add(plane, at, col[(plane*k+tap)*n+out]) })
	})
}

// collect sums into images of m's size; what falls into the padding is dropped.
func (m Images) collect(each func(add func(plane, at int, v float64))) Result {
	sums := make([]Sum, m.N*m.C*m.H*m.W)
	each(func(plane, at int, v float64) {
		if at >= 0 {
			sums[plane*m.H*m.W+at].Add(v)
		}
	})
	r := NewResult(len(sums))
	for i := range sums {
		r.set(i, &sums[i])
	}
	return r
}

// MaxPool is the largest element of each window and where it is in its plane, the first of equals.
func MaxPool(m Images, w device.Window) (y []float64, index []int32) {
	n := OutSize(m.H, w, 0) * OutSize(m.W, w, 1)
	y, index = make([]float64, m.N*m.C*n), make([]int32, m.N*m.C*n)
	for i := range index {
		y[i], index[i] = math.Inf(-1), -1
	}
	taps(m, w, func(plane, out, _, at int) {
		if at < 0 {
			return
		}
		if v, o := m.Data[plane*m.H*m.W+at], plane*n+out; index[o] < 0 || v > y[o] {
			y[o], index[o] = v, int32(at)
		}
	})
	return y, index
}

// MaxPoolVJP adds dy where the maxima were, in images of m's size.
func MaxPoolVJP(m Images, dy []float64, index []int32, w device.Window) Result {
	n := OutSize(m.H, w, 0) * OutSize(m.W, w, 1)
	return m.collect(func(add func(plane, at int, v float64)) {
		for i, v := range dy {
			add(i/n, int(index[i]), v)
		}
	})
}

// AvgPool is the sum over each window by its size.
func AvgPool(m Images, w device.Window) Result {
	n, k := OutSize(m.H, w, 0)*OutSize(m.W, w, 1), float64(w.Kernel[0]*w.Kernel[1])
	sums := make([]Sum, m.N*m.C*n)
	taps(m, w, func(plane, out, _, at int) {
		if at >= 0 {
			sums[plane*n+out].Add(m.Data[plane*m.H*m.W+at])
		}
	})
	r := NewResult(len(sums))
	for i, s := range sums {
		r.Value[i], r.Scale[i] = s.Value()/k, s.Size()/k
	}
	return r
}

// AvgPoolVJP spreads dy over images of m's size.
func AvgPoolVJP(m Images, dy []float64, w device.Window) Result {
	n, k := OutSize(m.H, w, 0)*OutSize(m.W, w, 1), float64(w.Kernel[0]*w.Kernel[1])
	return m.collect(func(add func(plane, at int, v float64)) {
		taps(m, w, func(plane, out, _, at int) { add(plane, at, dy[plane*n+out]/k) })
	})
}
