package dp

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// What is printed is less than the number by no more than 1e-13 of it, and no more than one in the last digit above it.
func TestUpwards(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	values := []float64{0, 1, 2, 1.9999996, 1.234564, 9.999994, 999999.4, 1e-7, .1, 123456.4, math.Nextafter(2, 3), math.Inf(1), math.MaxFloat64, 5e-324, 1e-310, 9.9999e-5}
	for range 2000 {
		values = append(values, math.Exp(30*rng.NormFloat64()))
	}
	for _, digits := range []int{1, 4, 6, 8, 15, 17} {
		for _, v := range values {
			text := Upwards(v, digits)
			got, err := strconv.ParseFloat(text, 64)
			if math.IsInf(got, 1) && err != nil { // the largest number, rounded up
				err = nil
			}
			if err != nil || !(got >= v*(1-1.0001e-13)) {
				t.Errorf("%.17g is printed as %s", v, text)
			}
			if above := v * 1.01 * math.Pow10(1-digits); got > v+above+5e-324 && v < 1e308 { // one in the last digit
				t.Errorf("%.17g is printed as %s", v, text)
			}
		}
	}
	if text := Upwards(1+1e-14, 8); text != "1" {
		t.Errorf("1 and a rounding error is printed as %s", text)
	}
	if g := (Guarantee{Epsilon: 1.2345641, Delta: 1e-5}).String(); !strings.HasPrefix(g, "ε = 1.23457 at δ = 1e-05 ") {
		t.Error(g)
	}
}
