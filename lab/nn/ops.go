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

// addSquares adds the squared norm of each example of g to squares.
func addSquares(squares, g *device.Array) {
	n := g.Dim(0)
	s := reduce(g.Reshape(n, -1), device.SumSquares, n, 1)
	addInto(squares, s)
	s.Free()
}
