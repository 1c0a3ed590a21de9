package cpu

import "math"

// Log-sum-exp of columns, reading a matrix along its rows: ColStart, and ColAdd
// for each row; it is top_j + log(sum_j).

// ColStart prepares the running maxima and sums of len(top) columns.
func (k Kernels[T]) ColStart(top, sum []T) {
	same("ColStart", len(top), len(sum))
	least := leastFinite[T]()
	for j := range top {
		top[j] = least
	}
	clear(sum)
}

// ColAdd adds a row to the running log-sum-exp of each column, with arguments
// x_j = g − c_j·inv: after it sum_j = Σ exp(x_j − top_j), at the cost of one
// exponential an element. top ignores NaN, sum keeps it; +Inf gives NaN.
func (k Kernels[T]) ColAdd(top, sum, c []T, g, inv T) {
	same("ColAdd", len(top), len(sum))
	same("ColAdd", len(top), len(c))
	if f := k.form(); f != plain {
		asmColLSE(f, at(top), at(sum), at(c), len(c), float64(g), float64(inv))
		return
	}
	for j, v := range c {
		top[j], sum[j] = raise(top[j], sum[j], g-v*inv, 1)
	}
}

// raise adds weight·eˣ to sum·e^top and returns the new maximum and sum.
func raise[T Float](top, sum, x, weight T) (T, T) {
	if x > top {
		return x, sum*plainExp(top-x) + weight
	}
	return top, sum + weight*plainExp(x-top)
}

// leastFinite is the start of a running maximum: unlike −Inf it can be
// subtracted from −Inf.
func leastFinite[T Float]() T {
	if is64[T]() {
		least := -math.MaxFloat64
		return T(least)
	}
	return T(-math.MaxFloat32)
}
