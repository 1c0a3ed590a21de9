package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// Helpers shared by the tests: every kernel is run for both element types on
// every instruction set of the machine.

// onAll runs a test for float64 and float32 on every instruction set.
func onAll(t *testing.T, f64 func(*testing.T, Kernels[float64]), f32 func(*testing.T, Kernels[float32])) {
	t.Helper()
	for _, isa := range Available() {
		t.Run("float64/"+isa.String(), func(t *testing.T) { f64(t, Kernels[float64]{isa}) })
		t.Run("float32/"+isa.String(), func(t *testing.T) { f32(t, Kernels[float32]{isa}) })
	}
}

// lengths are awkward: none, one, around every vector and unrolled length.
var lengths = func() []int {
	var ns []int
	for n := range 70 {
		ns = append(ns, n)
	}
	return append(ns, 95, 96, 97, 127, 128, 129, 191, 193, 255, 257, 511, 1000, 1023)
}()

// guard is the number of canary elements on each side of an output.
const guard = 16

// guarded returns a slice of n elements at an odd alignment between canaries,
// and a check that they live.
func guarded[T Float](n int) (x []T, intact func() bool) {
	full := make([]T, n+2*guard+1)
	canary := T(12345.5)
	for i := range full {
		full[i] = canary
	}
	x = full[guard+1 : guard+1+n : guard+1+n]
	return x, func() bool {
		for i, v := range full {
			if (i <= guard || i > guard+n) && v != canary {
				return false
			}
		}
		return true
	}
}

func random[T Float](r *rand.Rand, n int, scale float64) []T {
	x, _ := guarded[T](n)
	for i := range x {
		x[i] = T(scale * r.NormFloat64())
	}
	return x
}

// unit is the distance from 1 to the next number.
func unit[T Float]() float64 {
	if unsafe.Sizeof(T(0)) == 8 {
		return 0x1p-52
	}
	return 0x1p-23
}

// smallest is the spacing of denormal numbers.
func smallest[T Float]() float64 {
	if is64[T]() {
		return math.SmallestNonzeroFloat64
	}
	return math.SmallestNonzeroFloat32
}

// near fails unless |got − want| ≤ tol, or both are NaN or the same infinity.
func near[T Float](t *testing.T, what any, got T, want, tol float64) {
	g := float64(got)
	switch {
	case math.IsNaN(want) && math.IsNaN(g), g == want:
	case !(math.Abs(g-want) <= tol):
		t.Helper()
		t.Errorf("%s = %v, want %v within %.3g (off by %.3g)", what, g, want, tol, g-want)
	}
}

// relative is rel·|want|, and 0 for infinities.
func relative(rel, want float64) float64 {
	if math.IsInf(want, 0) {
		return 0
	}
	return rel * math.Abs(want)
}

// A total sums with compensation (Neumaier 1974): a reference whose own
// rounding does not show.
type total struct{ sum, lost float64 }

func (t *total) add(v float64) {
	s := t.sum + v
	if math.Abs(t.sum) >= math.Abs(v) {
		t.lost += t.sum - s + v
	} else {
		t.lost += v - s + t.sum
	}
	t.sum = s
}

func (t *total) value() float64 {
	if math.IsInf(t.sum, 0) || math.IsNaN(t.sum) {
		return t.sum
	}
	return t.sum + t.lost
}

func seeded(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 2026)) }

// A message is formatted where it is printed, since most are not.
type message struct {
	format string
	args   []any
}

func (m message) String() string { return fmt.Sprintf(m.format, m.args...) }

func label(format string, args ...any) message { return message{format, args} }
