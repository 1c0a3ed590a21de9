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
			if j := r.IntN(n); x[j] == 0 {
				y[j] = 0 // 0/0
			}
			y[r.IntN(n)] = x[0]
		}
		var sum, dot, l1, sign, abs float64
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
		k.Div(dst, x, y)
		for j := range dst {
			want := 0.0
			if x[j] != 0 {
				want = float64(x[j] / y[j])
			}
			near(t, label("Div %d of %d", j, n), dst[j], want, 0)
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
	k.Sqrt(dst, []T{0, 4, inf, nan, -1, 2})
	for j, want := range []float64{0, 2, math.Inf(1), math.NaN(), math.NaN(), float64(T(math.Sqrt2))} {
		near(t, label("Sqrt special %d", j), dst[j], want, 0)
	}
	k.Div(dst, []T{0, 0, 0, 1, nan, inf}, []T{0, inf, nan, 0, 1, 2})
	for j, want := range []T{0, 0, 0, inf, nan, inf} {
		near(t, label("Div special %d", j), dst[j], float64(want), 0)
	}
}

func TestMatrix(t *testing.T) { onAll(t, matrices[float64], matrices[float32]) }

// matrices: Gemv and GemvT against float64, with stride.
func matrices[T Float](t *testing.T, k Kernels[T]) {
	r := seeded(7)
	for _, n := range []int{0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 65, 100} {
		for rows := range 10 {
			stride := n + r.IntN(4)
			a := random[T](r, rows*stride, 1)
			x, w := random[T](r, n, 1), random[T](r, rows, 1)
			y, intact := guarded[T](rows)
			k.Gemv(y, a, stride, x)
			for i := range rows {
				want, tol := 0.0, 0.0
				for j := range n {
					p := float64(a[i*stride+j]) * float64(x[j])
					want, tol = want+p, tol+math.Abs(p)
				}
				near(t, label("Gemv row %d of %d×%d", i, rows, n), y[i], want, unit[T]()*tol*float64(4+n/8))
			}
			if !intact() {
				t.Fatalf("Gemv of %d×%d wrote outside y", rows, n)
			}
			col, intact := guarded[T](n)
			copy(col, x)
			k.GemvT(col, a, stride, w)
			for j := range n {
				want := float64(x[j])
				tol := math.Abs(want)
				for i := range rows {
					p := float64(a[i*stride+j]) * float64(w[i])
					want, tol = want+p, tol+math.Abs(p)
				}
				near(t, label("GemvT column %d of %d×%d", j, rows, n), col[j], want, unit[T]()*tol*float64(4+rows))
			}
			if !intact() {
				t.Fatalf("GemvT of %d×%d wrote outside y", rows, n)
			}
		}
	}
}
