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

// Convolution is a convolution of x with a weight and its transposes at dy, by the definition.
type Convolution struct{ Y, DX, DW, Squares Result }

// NewConvolution computes it; DW starts at before, Squares at 0.
func NewConvolution(x, dy Images, weight, before []float64, w device.Window) Convolution {
	y, dx, dw := make([]Sum, len(dy.Data)), make([]Sum, len(x.Data)), make([]Sum, len(weight))
	each := make([]Sum, x.N*len(weight))
	for i, v := range before {
		dw[i].Add(v)
	}
	area, positions, pixels := w.Kernel[0]*w.Kernel[1], dy.H*dy.W, x.H*x.W
	taps(x, w, func(plane, out, tap, at int) {
		if at < 0 {
			return
		}
		n, c := plane/x.C, plane%x.C
		for o := range dy.C {
			i, j, k := (n*dy.C+o)*positions+out, plane*pixels+at, (o*x.C+c)*area+tap
			y[i].AddProduct(weight[k], x.Data[j])
			dx[j].AddProduct(weight[k], dy.Data[i])
			dw[k].AddProduct(dy.Data[i], x.Data[j])
			each[n*len(weight)+k].AddProduct(dy.Data[i], x.Data[j])
		}
	})
	r := Convolution{results(y), results(dx), results(dw), NewResult(x.N)}
	for i := range each { // an error of g moves g² by 2|g| of it
		n, g := i/len(weight), each[i].Value()
		r.Squares.Value[n] += g * g
		r.Squares.Scale[n] += g*g + 2*math.Abs(g)*each[i].Size()
	}
	return r
}

func results(sums []Sum) Result {
	r := NewResult(len(sums))
	for i := range sums {
		r.set(i, &sums[i])
	}
	return r
}

// collect sums into images of m's size; what falls into the padding is dropped.
func (m Images) collect(each func(add func(plane, at int, v float64))) Result {
	sums := make([]Sum, m.N*m.C*m.H*m.W)
	each(func(plane, at int, v float64) {
		if at >= 0 {
			sums[plane*m.H*m.W+at].Add(v)
		}
	})
	return results(sums)
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
