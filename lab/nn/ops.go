package nn

import "coupling/lab/device"

// addInto is dst += x, whatever their shapes.
func addInto(dst, x *device.Array) {
	flat := dst.Reshape(-1)
	device.Add(flat, flat, x.Reshape(-1))
}

// addSum adds to grad the sum of x over the axes where shape has 1.
func addSum(grad, x *device.Array, shape ...int) {
	s := reduce(x, device.Sum, shape...)
	addInto(grad, s)
	s.Free()
}

// reduce is a new array of the given shape.
func reduce(x *device.Array, f device.Reduction, shape ...int) *device.Array {
	y := x.Device().New(x.Type(), shape...)
	device.Reduce(y, x, f)
	return y
}

// dot is Σ x·y over the axes where shape has 1, a new array.
func dot(x, y *device.Array, shape ...int) *device.Array {
	d := x.Device().New(x.Type(), shape...)
	device.ReduceDot(d, x, y)
	return d
}

// mul is a·b, a new array of a's shape.
func mul(a, b *device.Array) *device.Array {
	y := a.Like()
	device.Mul(y, a, b)
	return y
}

// scaled is alpha·x, a new array.
func scaled(alpha float64, x *device.Array) *device.Array {
	y := x.Like()
	device.Scale(y, alpha, x)
	return y
}

// tileBytes is how much of unfolded patches a convolution holds at once: on a CPU what stays in its caches between the
// unfolding and the product, on other devices enough to fill them.
func tileBytes(dev *device.Device) int {
	if dev.Info().Kind == "cpu" {
		return 4 << 20
	}
	return 256 << 20
}

// tiles cuts n examples into runs that hold at most tileBytes when each takes so many elements.
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

// addProductSquares adds ‖a_n·b_nᵀ‖² to squares_n.
func addProductSquares(squares, a, b *device.Array) {
	n, m, k := a.Dim(0), a.Dim(1), b.Dim(1)
	g := a.Device().New(a.Type(), n, m, k)
	device.Gemm(g, 1, a.N(), b.T(), 0)
	addSquares(squares, g)
	g.Free()
}

// addSquares adds the squared norm of each example of g to squares.
func addSquares(squares, g *device.Array) {
	n := g.Dim(0)
	s := reduce(g.Reshape(n, -1), device.SumSquares, n, 1)
	addInto(squares, s)
	s.Free()
}
