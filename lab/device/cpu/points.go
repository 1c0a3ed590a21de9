package cpu

// Cost is a ground cost between points of R^d,
//
//	c(x, y) = Square·|x−y|² + Abs·|x−y|₁,
//
// both weights finite, not both zero.
type Cost[T Float] struct {
	Square, Abs T
}

// The kernels on points take x, the d coordinates of one point, and y, the m
// other points coordinate after coordinate: y[k·m+j] is coordinate k of point
// j. They compute the costs c_j = c(x, y_j) in registers, and are otherwise
// like the functions of the same name on dense rows. h has length m, y length d·m.

// PointCosts writes the m = len(dst) costs c(x, y_j) to dst.
func (k Kernels[T]) PointCosts(dst, x, y []T, cost Cost[T]) {
	same("PointCosts", "y", len(y), "x)·len(dst", len(x)*len(dst))
	f, n := k.form(), len(dst)
	if f == plain {
		for j := range dst {
			dst[j] = cost.between(x, y, j, n)
		}
		return
	}
	switch {
	case cost.Abs == 0:
		asmSquareCost(f, at(dst), at(y), at(x), n, n, len(x), 0)
		k.weigh(dst, cost.Square)
	case cost.Square == 0:
		asmManhattanCost(f, at(dst), at(y), at(x), n, n, len(x), 0)
		k.weigh(dst, cost.Abs)
	default:
		asmMixedCost(f, at(dst), at(y), at(x), n, n, len(x), float64(cost.Abs/cost.Square))
		k.weigh(dst, cost.Square)
	}
}

func (k Kernels[T]) weigh(dst []T, weight T) {
	if weight != 1 {
		k.Scale(dst, weight, dst)
	}
}

// PointLogits writes h_j − c_j·inv to dst and returns the largest.
func (k Kernels[T]) PointLogits(dst, h, x, y []T, cost Cost[T], inv T) (top T) {
	same("PointLogits", "y", len(y), "x)·len(h", len(x)*len(h))
	same("PointLogits", "h", len(h), "dst", len(dst))
	f, n := k.form(), len(h)
	switch {
	case f == plain:
		k.PointCosts(dst, x, y, cost)
		return k.RowLogits(dst, h, dst, inv)
	case cost.Abs == 0:
		return T(asmSquareLogits(f, at(dst), at(h), at(y), at(x), n, n, len(x), 0, float64(inv*cost.Square)))
	case cost.Square == 0:
		return T(asmManhattanLogits(f, at(dst), at(h), at(y), at(x), n, n, len(x), 0, float64(inv*cost.Abs)))
	default:
		return T(asmMixedLogits(f, at(dst), at(h), at(y), at(x), n, n, len(x), float64(cost.Abs/cost.Square),
			float64(inv*cost.Square)))
	}
}

// PointRowExp is RowExp.
func (k Kernels[T]) PointRowExp(dst, h, x, y []T, cost Cost[T], inv T) (top, sum T) {
	top = k.PointLogits(dst, h, x, y, cost, inv)
	return top, k.ExpAt(dst, dst, finite(top))
}

// PointRowExpAt is RowExpAt.
func (k Kernels[T]) PointRowExpAt(dst, h, x, y []T, cost Cost[T], inv, shift T) (sum T) {
	same("PointRowExpAt", "y", len(y), "x)·len(h", len(x)*len(h))
	same("PointRowExpAt", "h", len(h), "dst", len(dst))
	f, n := k.form(), len(h)
	switch {
	case f == plain:
		k.PointLogits(dst, h, x, y, cost, inv)
		return k.ExpAt(dst, dst, shift)
	case cost.Abs == 0:
		return T(asmSquareExp(f, at(dst), at(h), at(y), at(x), n, n, len(x), 0, float64(inv*cost.Square),
			float64(shift)))
	case cost.Square == 0:
		return T(asmManhattanExp(f, at(dst), at(h), at(y), at(x), n, n, len(x), 0, float64(inv*cost.Abs),
			float64(shift)))
	default:
		return T(asmMixedExp(f, at(dst), at(h), at(y), at(x), n, n, len(x), float64(cost.Abs/cost.Square),
			float64(inv*cost.Square), float64(shift)))
	}
}

// PointRowLSE is RowLSE.
func (k Kernels[T]) PointRowLSE(h, x, y []T, cost Cost[T], inv T) T {
	same("PointRowLSE", "y", len(y), "x)·len(h", len(x)*len(h))
	f, n := k.form(), len(h)
	if f == plain {
		return plainPointLSE(h, x, y, cost, inv)
	}
	var first T
	if n > 0 {
		first = cost.between(x, y, 0, n) * inv
	}
	return onePass(startAt(h, first), func(start float64) (shift, sum float64) {
		switch {
		case cost.Abs == 0:
			return asmSquareLSE(f, at(h), at(y), at(x), n, n, len(x), 0, float64(inv*cost.Square), start)
		case cost.Square == 0:
			return asmManhattanLSE(f, at(h), at(y), at(x), n, n, len(x), 0, float64(inv*cost.Abs), start)
		default:
			return asmMixedLSE(f, at(h), at(y), at(x), n, n, len(x), float64(cost.Abs/cost.Square),
				float64(inv*cost.Square), start)
		}
	})
}

func plainPointLSE[T Float](h, x, y []T, cost Cost[T], inv T) T {
	top, sum := leastFinite[T](), T(0)
	for j, v := range h {
		top, sum = raise(top, sum, v-cost.between(x, y, j, len(h))*inv, 1)
	}
	return logSum(top, sum)
}

// between is the cost of point j of m.
func (c Cost[T]) between(x, y []T, j, m int) (sum T) {
	for i, v := range x {
		d := v - y[i*m+j]
		if d < 0 {
			d = -d
		}
		sum += (c.Square*d + c.Abs) * d
	}
	return sum
}
