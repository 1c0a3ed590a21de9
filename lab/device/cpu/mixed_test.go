package cpu

import (
	"math"
	"testing"
)

// TestMixed: rows in float32, sums in float64, on every instruction set, against compensated sums.
func TestMixed(t *testing.T) {
	for _, isa := range Available() {
		t.Run(isa.String(), func(t *testing.T) {
			for _, n := range lengths {
				mixedVectors(t, Mixed{isa}, n)
				for _, rows := range []int{0, 1, 3, 4, 5, 9} {
					products(t, Mixed{isa}.Gemv, Mixed{isa}.GemvT, rows, n, n+rows%3)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

func mixedVectors(t *testing.T, k Mixed, n int) {
	r := seeded(31)
	x, y, alpha := random[float32](r, n, 2), random[float64](r, n, 2), r.NormFloat64()
	var dot total
	var abs float64
	for j, v := range x {
		dot.add(float64(v) * y[j])
		abs += math.Abs(float64(v) * y[j])
	}
	near(t, label("Dot of %d", n), k.Dot(x, y), dot.value(), unit[float64]()*abs*float64(4+n/8))
	var sum, square total
	var size float64
	for _, v := range x {
		sum.add(float64(v))
		square.add(float64(v) * float64(v))
		size += math.Abs(float64(v))
	}
	near(t, label("WideSum of %d", n), Kernels[float32](k).WideSum(x), sum.value(), unit[float64]()*size*float64(4+n/8))
	near(t, label("WideDot of %d", n), Kernels[float32](k).WideDot(x, x), square.value(),
		unit[float64]()*square.value()*float64(4+n/8))
	dst, intact := guarded[float64](n)
	copy(dst, y)
	k.Axpy(dst, alpha, x)
	for j := range dst {
		want := math.FMA(alpha, float64(x[j]), y[j])
		near(t, label("Axpy %d of %d", j, n), dst[j], want,
			unit[float64]()*(math.Abs(y[j])+math.Abs(alpha*float64(x[j]))))
	}
	held, held32 := guarded[float32](n)
	for j := range y {
		y[j] = math.Exp(-60 * r.Float64() * float64(j%3)) // from 1 to under the least normal float32
	}
	k.Narrow(held, 0x1p-10, y)
	for j, v := range y {
		want := float32(0x1p-10 * v)
		if want < 0x1p-126 {
			want = 0
		}
		near(t, label("Narrow %d of %d", j, n), held[j], float64(want), 0)
	}
	if !intact() || !held32() {
		t.Fatalf("a kernel on %d elements wrote outside dst", n)
	}
}

// TestNarrowSpecial: NaN and +Inf stay, what float32 cannot hold is +Inf or 0, in every lane.
func TestNarrowSpecial(t *testing.T) {
	special := []float64{math.NaN(), math.Inf(1), 1e300, 0, 1e-300, 0x1p-127, 0x1p-126, math.Nextafter(0x1p-126, 0), -1}
	want := []float64{math.NaN(), math.Inf(1), math.Inf(1), 0, 0, 0, 0x1p-126, 0, 0}
	for _, isa := range Available() {
		for n := 1; n < 40; n++ {
			x, dst := make([]float64, n), make([]float32, n)
			for j := range x {
				x[j] = special[j%len(special)]
			}
			Mixed{isa}.Narrow(dst, 1, x)
			for j, v := range dst {
				near(t, label("%v: Narrow(%v)", isa, x[j]), v, want[j%len(want)], 0)
			}
		}
	}
}
