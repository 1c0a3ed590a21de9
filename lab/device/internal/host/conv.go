package host

import (
	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
)

// Convolutions read images where they lie, or from a copy with zeros around it, one sum over taps
// at a time (cpu.SumTaps): there is no matrix of patches. Small images with much padding are
// interleaved instead (interleave). Conv and ConvInput are one algorithm. The cotangent of an input
// at stride s falls into s·s phases, pixels whose taps are the same, and each phase is a
// convolution at stride 1 of its own.

// tapAxis is one axis of a convolution: how its source is padded, and the phases of its result.
type tapAxis struct {
	zeros, copied, size int // zeros in front, elements of the source, and all with the zeros behind
	phases              []phase
}

// phase is the results first, first + step, … along an axis, count of them. Result o reads the padded source at
// o·stride + offset for each tap.
type phase struct {
	first, step, count int
	stride             int
	taps, offsets      []int // kernel indices and where they read
}

// forwardAxis is axis i of a window that brings in elements to out.
func forwardAxis(w backend.Window, i, in, out int) tapAxis {
	p := phase{step: 1, count: out, stride: w.Stride[i]}
	for k := range w.Kernel[i] {
		p.taps, p.offsets = append(p.taps, k), append(p.offsets, k*w.Dilation[i])
	}
	size := (out-1)*w.Stride[i] + (w.Kernel[i]-1)*w.Dilation[i] + 1
	zeros := min(w.Pad[i], size)
	return tapAxis{zeros: zeros, copied: min(in, size-zeros), size: size, phases: []phase{p}}
}

// inputAxis is its transpose, from out elements back to in: result r + s·o takes tap k of element o + (r + p − k·d)/s
// where that division leaves nothing.
func inputAxis(w backend.Window, i, in, out int) tapAxis {
	s := w.Stride[i]
	a := tapAxis{size: 1}
	for r := range min(s, in) {
		p := phase{first: r, step: s, count: (in - r + s - 1) / s, stride: 1}
		for k := range w.Kernel[i] {
			at := r + w.Pad[i] - k*w.Dilation[i]
			if at%s != 0 {
				continue
			}
			if at /= s; at+p.count-1 < 0 || at >= out { // zeros alone
				continue
			}
			p.taps, p.offsets = append(p.taps, k), append(p.offsets, at)
			a.zeros = max(a.zeros, -at)
			a.copied = max(a.copied, min(at+p.count, out))
			a.size = max(a.size, at+p.count)
		}
		a.phases = append(a.phases, p)
	}
	a.size += a.zeros
	for _, p := range a.phases {
		for j := range p.offsets {
			p.offsets[j] += a.zeros
		}
	}
	return a
}

// padding is planes with zeros around them.
type padding struct {
	rows, cols tapAxis
	h, w       int // of the source
}

// plane is the elements of a padded plane.
func (p padding) plane() int { return p.rows.size * p.cols.size }

// none reports whether the source is its own copy.
func (p padding) none() bool {
	return p.rows.zeros == 0 && p.cols.zeros == 0 && p.rows.size == p.h && p.cols.size == p.w
}

// copyPlanes pads planes; the zeros are in place.
func copyPlanes[T cpu.Float](k cpu.Kernels[T], p padding, to, from []T, planes int) {
	for i := range planes {
		k.CopyRows(to[i*p.plane()+p.rows.zeros*p.cols.size+p.cols.zeros:], p.cols.size, from[i*p.h*p.w:], p.w,
			p.rows.copied, p.cols.copied)
	}
}

// startsOf is the first of each group of cpu.Group windows that cover n: the last group overlaps the one before, or is
// alone and has too many.
func startsOf(n int) []int {
	var starts []int
	for at := 0; at < n; at += cpu.Group {
		starts = append(starts, max(0, min(at, n-cpu.Group)))
	}
	return starts
}

// whole reports whether the window is the image, with one result.
func whole(x, y tensor, w backend.Window) bool {
	return y.Shape[2]*y.Shape[3] == 1 && w.Pad == [2]int{} && w.Kernel == [2]int{x.Shape[2], x.Shape[3]} &&
		w.Dilation == [2]int{1, 1}
}

// matrix is a tensor as rows by the product of the other axes.
func matrix(t tensor, rows int) tensor {
	t.Shape = []int{rows, t.Len() / max(1, rows)}
	return t
}

// Conv is y = W ⋆ x.
func (e *engine[T]) Conv(y, x, weight tensor, w backend.Window) {
	n, in, out := x.Shape[0], x.Shape[1], y.Shape[1]
	if n == 0 || in > 0 && whole(x, y, w) {
		e.Gemm(matrix(y, n), 1, matrix(x, n), false, matrix(weight, out), true, 0)
		return
	}
	e.gather(y, x, weight, w, padding{
		forwardAxis(w, 0, x.Shape[2], y.Shape[2]), forwardAxis(w, 1, x.Shape[3], y.Shape[3]), x.Shape[2], x.Shape[3],
	}, in, 1)
}

// ConvInput is dx = Wᵀ dy.
func (e *engine[T]) ConvInput(dx, dy, weight tensor, w backend.Window) {
	n, in, out := dx.Shape[0], dx.Shape[1], dy.Shape[1]
	if n == 0 || out > 0 && whole(dx, dy, w) {
		e.Gemm(matrix(dx, n), 1, matrix(dy, n), false, matrix(weight, out), false, 0)
		return
	}
	e.gather(dx, dy, weight, w, padding{
		inputAxis(w, 0, dx.Shape[2], dy.Shape[2]), inputAxis(w, 1, dx.Shape[3], dy.Shape[3]), dy.Shape[2], dy.Shape[3],
	}, 1, in)
}

// gather writes to dst the sums over windows of src; weights of channels of dst and of src lie so many kernels apart.
func (e *engine[T]) gather(dst, src, weight tensor, w backend.Window, pad padding, dstStep, srcStep int) {
	area := w.Kernel[0] * w.Kernel[1]
	g := gathering[T]{e: e, n: dst.Shape[0], in: src.Shape[1], out: dst.Shape[1], src: view[T](src), dst: view[T](dst),
		h: dst.Shape[2], w: dst.Shape[3], pad: pad, weights: tapWeights[T]{
			data: view[T](weight), outStep: dstStep * area, inStep: srcStep * area, across: w.Kernel[1], area: area,
		}}
	g.run()
}
