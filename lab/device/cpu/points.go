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
	same("PointCosts", len(y), len(x)*len(dst))
	f, n := k.form(), len(dst)
	if f == plain {
		for j := range dst {
			dst[j] = cost.between(x, y, j, n)
		}
		return
	}
	mix, weight := cost.split()
	switch {
	case cost.Abs == 0:
		asmSquareCost(f, at(dst), at(y), at(x), n, n, len(x), mix)
	case cost.Square == 0:
		asmManhattanCost(f, at(dst), at(y), at(x), n, n, len(x), mix)
	default:
		asmMixedCost(f, at(dst), at(y), at(x), n, n, len(x), mix)
	}
	if weight != 1 {
		k.Scale(dst, weight, dst)
	}
}

// split is the cost as weight·(|x−y|² + mix·|x−y|₁), or as weight·|x−y|₁.
func (c Cost[T]) split() (mix float64, weight T) {
	if c.Square == 0 {
		return 0, c.Abs
	}
	return float64(c.Abs / c.Square), c.Square
}

// PointLogits writes h_j − c_j·inv to dst and returns the largest.
func (k Kernels[T]) PointLogits(dst, h, x, y []T, cost Cost[T], inv T) (top T) {
	same("PointLogits", len(y), len(x)*len(h))
	same("PointLogits", len(h), len(dst))
	f, n := k.form(), len(h)
	mix, weight := cost.split()
	by := float64(inv * weight)
	switch {
	case f == plain:
		k.PointCosts(dst, x, y, cost)
		return k.RowLogits(dst, h, dst, inv)
	case cost.Abs == 0:
		return T(asmSquareLogits(f, at(dst), at(h), at(y), at(x), n, n, len(x), mix, by))
	case cost.Square == 0:
		return T(asmManhattanLogits(f, at(dst), at(h), at(y), at(x), n, n, len(x), mix, by))
	default:
		return T(asmMixedLogits(f, at(dst), at(h), at(y), at(x), n, n, len(x), mix, by))
	}
}

// PointRowExp is RowExp.
func (k Kernels[T]) PointRowExp(dst, h, x, y []T, cost Cost[T], inv T) (top, sum T) {
	top = k.PointLogits(dst, h, x, y, cost, inv)
	return top, k.ExpAt(dst, dst, finite(top))
}

// PointRowExpAt is RowExpAt.
func (k Kernels[T]) PointRowExpAt(dst, h, x, y []T, cost Cost[T], inv, shift T) (sum T) {
	same("PointRowExpAt", len(y), len(x)*len(h))
	same("PointRowExpAt", len(h), len(dst))
	f, n := k.form(), len(h)
	mix, weight := cost.split()
	by, from := float64(inv*weight), float64(shift)
	switch {
	case f == plain:
		k.PointLogits(dst, h, x, y, cost, inv)
		return k.ExpAt(dst, dst, shift)
	case cost.Abs == 0:
		return T(asmSquareExp(f, at(dst), at(h), at(y), at(x), n, n, len(x), mix, by, from))
	case cost.Square == 0:
		return T(asmManhattanExp(f, at(dst), at(h), at(y), at(x), n, n, len(x), mix, by, from))
	default:
		return T(asmMixedExp(f, at(dst), at(h), at(y), at(x), n, n, len(x), mix, by, from))
	}
}

// PointRowLSE is RowLSE.
func (k Kernels[T]) PointRowLSE(h, x, y []T, cost Cost[T], inv T) T {
	same("PointRowLSE", len(y), len(x)*len(h))
	f, n := k.form(), len(h)
	if f == plain {
		return plainPointLSE(h, x, y, cost, inv)
	}
	var first T
	if n > 0 {
		first = cost.between(x, y, 0, n) * inv
	}
	mix, weight := cost.split()
	by := float64(inv * weight)
	return onePass(startAt(h, first), func(start float64) (shift, sum float64) {
		switch {
		case cost.Abs == 0:
			return asmSquareLSE(f, at(h), at(y), at(x), n, n, len(x), mix, by, start)
		case cost.Square == 0:
			return asmManhattanLSE(f, at(h), at(y), at(x), n, n, len(x), mix, by, start)
		default:
			return asmMixedLSE(f, at(h), at(y), at(x), n, n, len(x), mix, by, start)
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
