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
