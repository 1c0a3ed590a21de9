package cpu

import "math"

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
	kind, mix, weight := cost.split()
	asmPointCost(f.kind(kind), at(dst), at(y), at(x), n, n, len(x), mix)
	if weight != 1 {
		k.Scale(dst, weight, dst)
	}
}

// split is the cost as weight·|x−y|², weight·|x−y|₁ or weight·(|x−y|² + mix·|x−y|₁), of kind 0, 1 and 2.
func (c Cost[T]) split() (kind int, mix float64, weight T) {
	switch mix = float64(c.Abs / c.Square); {
	case c.Abs == 0:
		return 0, 0, c.Square
	case math.IsInf(mix, 0): // squares are none, or lost beside distances
		return 1, 0, c.Abs
	}
	return 2, mix, c.Square
}

// PointLogits writes h_j − c_j·inv to dst and returns the largest.
func (k Kernels[T]) PointLogits(dst, h, x, y []T, cost Cost[T], inv T) (top T) {
	same("PointLogits", len(y), len(x)*len(h))
	same("PointLogits", len(h), len(dst))
	f, n := k.form(), len(h)
	if f == plain {
		k.PointCosts(dst, x, y, cost)
		return k.RowLogits(dst, h, dst, inv)
	}
	kind, mix, weight := cost.split()
	return T(asmPointLogits(f.kind(kind), at(dst), at(h), at(y), at(x), n, n, len(x), mix, float64(inv*weight)))
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
	if f == plain {
		k.PointLogits(dst, h, x, y, cost, inv)
		return k.ExpAt(dst, dst, shift)
	}
	kind, mix, weight := cost.split()
	return T(asmPointExp(f.kind(kind), at(dst), at(h), at(y), at(x), n, n, len(x), mix, float64(inv*weight),
		float64(shift)))
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
	kind, mix, weight := cost.split()
	return onePass(startAt(h, first), func(start float64) (shift, sum float64) {
		return asmPointLSE(f.kind(kind), at(h), at(y), at(x), n, n, len(x), mix, float64(inv*weight), start)
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
