package ref

// Len is the number of elements of a shape.
func Len(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}

// Each calls f with the flat position and the index of every element, in row-major order. f must not keep index.
func Each(shape []int, f func(flat int, index []int)) {
	index := make([]int, len(shape))
	for flat := range Len(shape) {
		rest := flat
		for k := len(shape) - 1; k >= 0; k-- {
			index[k] = rest % shape[k]
			rest /= shape[k]
		}
		f(flat, index)
	}
}

// At is the flat position of an index in a shape; along axes of size 1 the index does not count, which is
// broadcasting.
func At(shape, index []int) int {
	flat := 0
	for k, s := range shape {
		flat *= s
		if s != 1 {
			flat += index[k]
		}
	}
	return flat
}

// Spread is x, of one shape, broadcast to another.
func Spread(to, shape []int, x []float64) []float64 {
	y := make([]float64, Len(to))
	Each(to, func(flat int, index []int) { y[flat] = x[At(shape, index)] })
	return y
}

// Part is the elements of x from index at to at+n of an axis.
func Part(shape []int, x []float64, axis, at, n int) (to []int, y []float64) {
	to = append([]int(nil), shape...)
	to[axis] = n
	y = make([]float64, Len(to))
	EachPart(shape, axis, at, n, func(big, small int) { y[small] = x[big] })
	return to, y
}

// EachPart calls f with the flat positions, in a shape and in its part, of the elements of that part.
func EachPart(shape []int, axis, at, n int, f func(big, small int)) {
	part := append([]int(nil), shape...)
	part[axis] = n
	from := make([]int, len(shape))
	Each(part, func(flat int, index []int) {
		copy(from, index)
		from[axis] += at
		big := 0
		for k, s := range shape {
			big = big*s + from[k]
		}
		f(big, flat)
	})
}
