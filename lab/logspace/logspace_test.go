package logspace

import (
	"math"
	"testing"
)

// The log of m·2^e is log m + e·log 2, within the rounding of the sum, for every exponent of a float64.
func TestLog(t *testing.T) {
	for e := -1074; e < 1024; e++ {
		for _, m := range []float64{1, 1.25, 1.5, 1.9375} {
			x := math.Ldexp(m, e)
			m := math.Ldexp(x, -e) // what is left of it below 2^−1022
			want := math.Log(m) + float64(e)*math.Ln2
			if got := Log(x); math.Abs(got-want) > 4*Ulp*math.Abs(float64(e)) {
				t.Errorf("Log(%v) = %v, want %v", x, got, want)
			}
		}
	}
	if !math.IsInf(Log(0), -1) || !math.IsInf(Log(math.Inf(1)), 1) || !math.IsNaN(Log(-1)) ||
		!math.IsNaN(Log(math.NaN())) {
		t.Errorf("Log(0, ∞, −1, NaN) = %v, %v, %v, %v", Log(0), Log(math.Inf(1)), Log(-1), Log(math.NaN()))
	}
	if got, want := Expm1(5e-324), -744.4400719213812; math.Abs(got-want) > 1e-12 {
		t.Errorf("Expm1(5e-324) = %v, want %v", got, want)
	}
	if got, want := OneMinusExp(-1e-310), -713.8013788281542; math.Abs(got-want) > 1e-12 {
		t.Errorf("OneMinusExp(-1e-310) = %v, want %v", got, want)
	}
}
