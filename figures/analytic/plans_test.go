package analytic

import (
	"math"
	"testing"
)

// A title says what its number is.
func TestMisplaced(t *testing.T) {
	for x, want := range map[float64]string{0.97: "97% off", 3.2e-4: "0.032% off", 9e-14: "9e-14 off"} {
		if got := misplaced(x); got != want {
			t.Errorf("misplaced(%g) = %q, want %q", x, got, want)
		}
	}
	if got := misplaced(math.NaN()); got != "NaN" {
		t.Errorf("misplaced(NaN) = %q", got)
	}
}
