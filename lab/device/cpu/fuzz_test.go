package cpu

import (
	"encoding/binary"
	"math"
	"testing"
)

// floats reads elements, of any bits, from fuzzed bytes.
func floats(data []byte) []float64 {
	x := make([]float64, len(data)/8)
	for i := range x {
		x[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return x
}

func bytesOf(x ...float64) []byte {
	var out []byte
	for _, v := range x {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
	}
	return out
}

// FuzzExp: any bits, at any place of any length, are within 2 units in the last
// place of math.Exp's result (itself within 1), zero where that is tiny.
func FuzzExp(f *testing.F) {
	f.Add(bytesOf(0, 1, -1, 709.7, 710, -708, -709, math.Inf(1), math.Inf(-1), math.NaN(), 1e300, -1e300, 5e-324))
	f.Add(bytesOf(make([]float64, 67)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		x := floats(data)
		x32 := make([]float32, len(x))
		for j, v := range x {
			x32[j] = float32(v)
		}
		for _, isa := range Available() {
			fuzzExp(t, Kernels[float64]{isa}, x)
			fuzzExp(t, Kernels[float32]{isa}, x32)
		}
	})
}

func fuzzExp[T Float](t *testing.T, k Kernels[T], x []T) {
	dst, intact := guarded[T](len(x))
	k.Exp(dst, x)
	for j, v := range x {
		got, want := float64(dst[j]), float64(plainExp(v))
		switch {
		case math.IsNaN(want) != math.IsNaN(got):
			t.Errorf("%v: Exp(%v) = %v, want %v", k.ISA, v, got, want)
		case float64(v) < expFloor[T]()-0.01 && got != 0:
			t.Errorf("%v: Exp(%v) = %v, want 0", k.ISA, v, got)
		case math.Abs(float64(v)-expFloor[T]()) < 0.01: // zero or what it is
		case math.IsInf(want, 1) != math.IsInf(got, 1) && math.Abs(float64(v)-float64(T(math.Log(want)))) > 0.01:
			t.Errorf("%v: Exp(%v) = %v, want %v", k.ISA, v, got, want)
		case !math.IsInf(want, 1) && !math.IsInf(got, 1) && math.Abs(got-want) > 3.5*unit[T]()*want:
			t.Errorf("%v: Exp(%v) = %v, want %v", k.ISA, v, got, want)
		}
	}
	if !intact() {
		t.Fatalf("%v: Exp of %d elements wrote outside dst", k.ISA, len(x))
	}
}

// FuzzRow: for any h and costs the row kernels agree with one another and with
// plain Go, and NaN comes out if and only if it should.
func FuzzRow(f *testing.F) {
	f.Add(bytesOf(1, 2, 3, 4, 5, 6, 7, 8), 2.0)
	f.Add(bytesOf(math.Inf(-1), 1, 0, math.Inf(1), 1e300, -1e300, 5e-324, 1), 1e-3)
	f.Add(bytesOf(make([]float64, 130)...), 1.0)
	f.Fuzz(func(t *testing.T, data []byte, inv float64) {
		all := floats(data)
		n := len(all) / 2
		if !(inv > 1e-100 && inv < 1e100) {
			return
		}
		rc := rowCase[float64]{h: all[:n], c: all[n : 2*n], inv: inv}
		usable := true
		for j := range n {
			x := rc.h[j] - rc.c[j]*inv
			usable = usable && !math.IsNaN(x) && !math.IsInf(x, 1) && !math.IsInf(rc.h[j], 1) &&
				!math.IsInf(rc.c[j], -1) && math.Abs(rc.c[j]*inv) < 1e300
		}
		for _, isa := range Available() {
			k := Kernels[float64]{isa}
			if usable {
				rc.refer()
				checkRow(t, k, rc, isa.String()+": ")
				continue
			}
			dst, intact := guarded[float64](n)
			_, sum := k.RowExp(dst, rc.h, rc.c, inv)
			if sum < 0 {
				t.Errorf("%v: RowExp sum = %v", isa, sum)
			}
			k.RowLSE(rc.h, rc.c, inv)
			if !intact() {
				t.Fatalf("%v: RowExp wrote outside dst", isa)
			}
		}
	})
}
