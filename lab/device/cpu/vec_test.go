package cpu

import (
	"math"
	"testing"
)

func TestVectors(t *testing.T) { onAll(t, vectors[float64], vectors[float32]) }

// vectors: elementwise kernels and reductions against float64.
func vectors[T Float](t *testing.T, k Kernels[T]) {
	r := seeded(6)
	for _, n := range lengths {
		x, y := random[T](r, n, 2), random[T](r, n, 2)
		alpha := T(r.NormFloat64())
		if n > 0 {
			x[r.IntN(n)] = 0
			y[r.IntN(n)] = x[0]
		}
		var sum, dot, l1, sign, below, abs float64
		top := math.Inf(-1)
		for j := range x {
			a, b := float64(x[j]), float64(y[j])
			sum += a
			dot += a * b
			l1 += math.Abs(a - b)
			abs += math.Abs(a) + math.Abs(a*b)
			top = math.Max(top, a)
			if alpha > y[j] {
				sign += a
				below += a
			} else if alpha < y[j] {
				sign -= a
			}
		}
		tol := unit[T]() * abs * float64(4+n/8)
		near(t, label("Sum of %d", n), k.Sum(x), sum, tol)
		near(t, label("Dot of %d", n), k.Dot(x, y), dot, tol)
		near(t, label("L1Diff of %d", n), k.L1Diff(x, y), l1, unit[T]()*l1*float64(4+n/8))
		near(t, label("DotSign of %d", n), k.DotSign(x, y, alpha), sign, tol)
		near(t, label("Max of %d", n), k.Max(x), top, 0)

		dst, intact := guarded[T](n)
		near(t, label("Below of %d", n), k.Below(dst, x, y, alpha), below, tol)
		for j := range dst {
			want := 0.
			if y[j] < alpha {
				want = float64(x[j])
			}
			near(t, label("Below %d of %d", j, n), dst[j], want, 0)
		}
		copy(dst, y)
		k.Axpy(dst, alpha, x)
		for j := range dst {
			want := math.FMA(float64(alpha), float64(x[j]), float64(y[j]))
			near(t, label("Axpy %d of %d", j, n), dst[j], want,
				unit[T]()*(math.Abs(float64(y[j]))+math.Abs(float64(alpha*x[j]))))
		}
		k.Scale(dst, alpha, x)
		for j := range dst {
			near(t, label("Scale %d of %d", j, n), dst[j], float64(alpha*x[j]), 0)
		}
		k.Mul(dst, x, y)
		for j := range dst {
			near(t, label("Mul %d of %d", j, n), dst[j], float64(x[j]*y[j]), 0)
		}
		k.Mul(dst, x, x)
		k.Sqrt(dst, dst)
		for j := range dst {
			near(t, label("Sqrt %d of %d", j, n), dst[j], float64(T(math.Sqrt(float64(x[j]*x[j])))), 0)
		}
		if !intact() {
			t.Fatalf("a kernel on %d elements wrote outside dst", n)
		}
		if t.Failed() {
			return
		}
	}
}

func TestVectorSpecial(t *testing.T) { onAll(t, vectorSpecial[float64], vectorSpecial[float32]) }

func vectorSpecial[T Float](t *testing.T, k Kernels[T]) {
	inf, nan := T(math.Inf(1)), T(math.NaN())
	if got := k.Max([]T{nan, 1, nan, 3, nan}); got != 3 {
		t.Errorf("Max with NaN = %v, want 3", got)
	}
	if got := k.Max(nil); got != -inf {
		t.Errorf("Max of nothing = %v, want -Inf", got)
	}
	for name, got := range map[string]T{
		"Sum": k.Sum([]T{1, nan}), "Dot": k.Dot([]T{1, nan}, []T{1, 0}), "L1Diff": k.L1Diff([]T{nan}, []T{1}),
		"DotSign": k.DotSign([]T{1, 1}, []T{nan, 1}, 0), "DotSign t": k.DotSign([]T{nan}, []T{2}, 1),
	} {
		if got == got {
			t.Errorf("%s with NaN = %v, want NaN", name, got)
		}
	}
	dst := make([]T, 6)
	if got := k.Below(dst, []T{1, nan, inf, 2, nan, 4}, []T{0, 1, 1, -inf, inf, nan}, 1); got != 3 {
		t.Errorf("Below of what is left out = %v, want 3", got)
	}
	k.Sqrt(dst, []T{0, 4, inf, nan, -1, 2})
	for j, want := range []float64{0, 2, math.Inf(1), math.NaN(), math.NaN(), float64(T(math.Sqrt2))} {
		near(t, label("Sqrt special %d", j), dst[j], want, 0)
	}
}

func TestMatrix(t *testing.T) { onAll(t, matrices[float64], matrices[float32]) }

// matrices: products of all sizes, with stride.
func matrices[T Float](t *testing.T, k Kernels[T]) {
	r := seeded(7)
	for _, n := range []int{0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 65, 100} {
		for rows := range 10 {
			products(t, k.Gemv, k.GemvT, rows, n, n+r.IntN(4))
		}
	}
}

// products holds Gemv and GemvT to compensated sums.
func products[A, X Float](t *testing.T, gemv, gemvT func(y []X, a []A, stride int, x []X), rows, n, stride int) {
	t.Helper()
	r := seeded(32)
	a := random[A](r, rows*stride+n, 1)
	x, w, y := random[X](r, n, 1), random[X](r, rows, 1), random[X](r, n, 1)
	out, intact := guarded[X](rows)
	gemv(out, a, stride, x)
	col, whole := guarded[X](n)
	copy(col, y)
	gemvT(col, a, stride, w)
	sums, abs := make([]total, n), make([]float64, n)
	for j := range sums {
		sums[j].add(float64(y[j]))
		abs[j] = math.Abs(float64(y[j]))
	}
	for i := range rows {
		var s total
		var size float64
		for j := range n {
			v := float64(a[i*stride+j])
			s.add(v * float64(x[j]))
			size += math.Abs(v * float64(x[j]))
			sums[j].add(v * float64(w[i]))
			abs[j] += math.Abs(v * float64(w[i]))
		}
		near(t, label("Gemv %d of %d×%d", i, rows, n), out[i], s.value(), unit[X]()*size*float64(4+n/8))
	}
	for j, s := range sums {
		near(t, label("GemvT %d of %d×%d", j, rows, n), col[j], s.value(), unit[X]()*abs[j]*float64(4+rows))
	}
	if !intact() || !whole() {
		t.Fatalf("a product with %d×%d wrote outside its result", rows, n)
	}
}
