package ref

// Len is the number of elements of a shape.
func Len(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}

// Each calls f with the flat position of every element of a shape, in row-major order, and with where its index lies in
// another shape of as many axes. There the index does not count along axes of size 1, which is broadcasting.
func Each(shape, to []int, f func(flat, at int)) {
	for flat := range Len(shape) {
		at, step, rest := 0, 1, flat
		for k := len(shape) - 1; k >= 0; k-- {
			if to[k] != 1 {
				at += rest % shape[k] * step
			}
			rest /= shape[k]
			step *= to[k]
		}
		f(flat, at)
	}
}

// Spread is x, of one shape, broadcast to another.
func Spread(to, shape []int, x []float64) []float64 {
	y := make([]float64, Len(to))
	Each(to, shape, func(flat, at int) { y[flat] = x[at] })
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
	first := at * Len(shape[axis+1:])
	Each(part, shape, func(small, big int) { f(first+big, small) })
}
