package conv

import "coupling/lab/device"

// tileBytes is how much of patches is held at once: on a CPU what stays in its caches between unfolding and product,
// on other devices enough to fill them. A variable for tests, so that small problems are cut on every device.
var tileBytes = func(dev *device.Device) int {
	if dev.Info().Kind == "cpu" {
		return 4 << 20
	}
	return 256 << 20
}

// tiles cuts the examples of x into runs that hold at most tileBytes when each takes so many elements.
func tiles(x *device.Array, elements int, do func(lo, hi int)) {
	n := x.Dim(0)
	step := max(1, tileBytes(x.Device())/(max(1, elements)*x.Type().Size()))
	for lo := 0; lo < n; lo += step {
		do(lo, min(lo+step, n))
	}
}

// addProducts is dst += Σ_n a_n·b_nᵀ with dst m×k, a n×m×p and b n×k×p.
//
// On a CPU each product is added in turn. Elsewhere many small launches would cost more than moving the data so that
// one product does it.
func addProducts(dst, a, b *device.Array) {
	n, m, p, k := a.Dim(0), a.Dim(1), a.Dim(2), b.Dim(1)
	dev := a.Device()
	if dev.Info().Kind == "cpu" || n == 1 {
		for i := range n {
			device.Gemm(dst, 1, a.Rows(i, i+1).Reshape(m, p).N(), b.Rows(i, i+1).Reshape(k, p).T(), 1)
		}
		return
	}
	at, bt := dev.New(a.Type(), m, n, p), dev.New(b.Type(), k, n, p)
	device.Permute(at, a, 1, 0, 2)
	device.Permute(bt, b, 1, 0, 2)
	device.Gemm(dst, 1, at.Reshape(m, n*p).N(), bt.Reshape(k, n*p).T(), 1)
	at.Free()
	bt.Free()
}
