package host

import "coupling/lab/device/internal/backend"

// Windows over planes.

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
