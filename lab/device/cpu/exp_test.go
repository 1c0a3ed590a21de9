package cpu

import (
	"math"
	"testing"
)

func TestExpAccuracy(t *testing.T) { onAll(t, expAccuracy[float64], expAccuracy[float32]) }

// expAccuracy measures the error over the whole range in units in the last
// place against 160-bit arithmetic.
func expAccuracy[T Float](t *testing.T, k Kernels[T]) {
	r := seeded(1)
	lo, hi := expFloor[T](), 88.72
	if is64[T]() {
		hi = 709.78
	}
	n := 20_000
	if testing.Short() {
		n = 4000
	}
	x, y := make([]T, n), make([]T, n)
	for i := range x {
		switch {
		case i%4 == 0:
			x[i] = T(r.NormFloat64())
		case i%4 == 1:
			x[i] = T(math.Ldexp(r.NormFloat64(), -r.IntN(60)))
		default:
			x[i] = T(lo + (hi-lo)*r.Float64())
		}
	}
	k.Exp(y, x)
	worst, at := 0.0, T(0)
	for i, v := range x {
		if float64(v) < lo {
			continue
		}
		if e := ulpsOff(y[i], float64(v)); e > worst {
			worst, at = e, v
		}
	}
	t.Logf("worst error %.3f units in the last place at %v", worst, at)
	if worst > 2 {
		t.Errorf("Exp(%v) is %.3f units in the last place off, want at most 2", at, worst)
	}
}

// ulpsOff is |got − e^x| in units in the last place of e^x.
func ulpsOff[T Float](got T, x float64) float64 {
	head, tail := expTwo(x)
	_, exp := math.Frexp(head)
	ulp := math.Ldexp(unit[T](), exp-1)
	return math.Abs(((float64(got) - head) - tail) / ulp)
}

func TestExpSpecial(t *testing.T) { onAll(t, expSpecial[float64], expSpecial[float32]) }

func expSpecial[T Float](t *testing.T, k Kernels[T]) {
	inf, nan := T(math.Inf(1)), T(math.NaN())
	floor := T(expFloor[T]())
	big := T(1e30)
	overflow, last := T(88.73), T(88.72)
	if is64[T]() {
		big, overflow, last = T(math.Sqrt(math.MaxFloat64)), T(math.Nextafter(709.782712893384, 710)), T(709.78)
	}
	atLast, _ := expTwo(float64(last))
	cases := []struct{ x, want T }{
		{0, 1}, {T(math.Copysign(0, -1)), 1}, {-inf, 0}, {inf, inf}, {nan, nan}, {big, inf}, {-big, 0},
		{big * big, inf}, {-big * big, 0}, {floor * 1.0001, 0}, {floor - 0.5, 0}, {floor - 50, 0},
		{overflow, inf}, {overflow + 0.25, inf}, {overflow + 0.5, inf}, {overflow + 1, inf}, {overflow + 2, inf},
		{1000, inf},
		{T(math.SmallestNonzeroFloat32), 1}, {-T(math.SmallestNonzeroFloat32), 1}, {last, T(atLast)},
	}
	// Every case in every lane and in the tail.
	for _, c := range cases {
		for _, n := range []int{1, 3, 8, 17, 65} {
			for j := range n {
				x := make([]T, n)
				x[j] = c.x
				k.Exp(x, x)
				near(t, label("Exp(%v) in lane %d of %d", c.x, j, n), x[j], float64(c.want),
					relative(2*unit[T](), float64(c.want)))
				for i, v := range x {
					if i != j && v != 1 {
						t.Fatalf("Exp(%v) in lane %d of %d changed lane %d: Exp(0) = %v", c.x, j, n, i, v)
					}
				}
			}
		}
	}
	// Just above the floor the result is a normal number.
	x := []T{floor * 0.9999}
	k.Exp(x, x)
	near(t, "Exp above the floor", x[0], math.Exp(float64(floor*0.9999)), 4*unit[T]()*math.Exp(float64(floor)*0.9999))
}

func TestExpShifted(t *testing.T) { onAll(t, expShifted[float64], expShifted[float32]) }

// expShifted: ExpAt and LogSumExp against sums in float64.
func expShifted[T Float](t *testing.T, k Kernels[T]) {
	r := seeded(2)
	for _, n := range lengths {
		x := random[T](r, n, 12)
		if n > 2 {
			x[r.IntN(n)] = T(math.Inf(-1))
		}
		shift := T(r.NormFloat64())
		dst, intact := guarded[T](n)
		sum := k.ExpAt(dst, x, shift)
		want := 0.0
		for j, v := range x {
			e := math.Exp(float64(v - shift))
			near(t, label("ExpAt %d of %d", j, n), dst[j], e, (3+math.Abs(float64(v-shift))/8)*unit[T]()*e)
			want += e
		}
		near(t, label("ExpAt sum of %d", n), sum, want, float64(12+n/8)*unit[T]()*want)
		near(t, label("LogSumExp of %d", n), k.LogSumExp(x), math.Log(want)+float64(shift),
			float64(8+n/8)*unit[T]()+4*unit[T]()*math.Abs(math.Log(want)))
		if !intact() {
			t.Fatalf("ExpAt of %d wrote outside dst", n)
		}
	}
}

func TestLogSumExpKnown(t *testing.T) { onAll(t, lseKnown[float64], lseKnown[float32]) }

// lseKnown: closed forms, and sequences that raise the running shift at every
// block.
func lseKnown[T Float](t *testing.T, k Kernels[T]) {
	inf, nan := T(math.Inf(1)), T(math.NaN())
	if got := k.LogSumExp(nil); !math.IsInf(float64(got), -1) {
		t.Errorf("LogSumExp of nothing = %v, want -Inf", got)
	}
	for _, n := range []int{1, 5, 64, 200} {
		x := make([]T, n)
		near(t, "LogSumExp of zeros", k.LogSumExp(x), math.Log(float64(n)), 2*unit[T]()*math.Log(float64(n)+1))
		for j := range x {
			x[j] = -inf
		}
		if got := k.LogSumExp(x); !math.IsInf(float64(got), -1) {
			t.Errorf("LogSumExp of %d times -Inf = %v, want -Inf", n, got)
		}
		x[n/2] = 3
		near(t, "LogSumExp of -Inf and 3", k.LogSumExp(x), 3, 0)
		x[n/3] = nan
		if got := k.LogSumExp(x); got == got {
			t.Errorf("LogSumExp with NaN = %v, want NaN", got)
		}
		for _, step := range []T{-1000, 1000, 1e6, -1e6, 40, 300} {
			for j := range x {
				x[j] = step * T(j)
			}
			near(t, label("LogSumExp of %d steps of %v", n, step), k.LogSumExp(x), float64(k.Max(x)), 0)
		}
		x[0] = inf
		if got := k.LogSumExp(x); got == got {
			t.Errorf("LogSumExp with +Inf = %v, want NaN", got)
		}
	}
}
