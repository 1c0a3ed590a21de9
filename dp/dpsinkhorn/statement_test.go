package dpsinkhorn

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"coupling/dp"
)

// What is printed for ε is never less than ε, and no more than one in the sixth digit above it.
func TestUpwards(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	values := []float64{0, 1, 2, 1.9999996, 1.234564, 9.999994, 999999.4, 1e-7, .1, 123456.4, math.Nextafter(2, 3), math.Inf(1)}
	for range 2000 {
		values = append(values, math.Exp(4*rng.NormFloat64()))
	}
	for _, v := range values {
		got, err := strconv.ParseFloat(upwards(v), 64)
		if err != nil || !(got >= v) || got > v*(1+1.01e-5) {
			t.Errorf("%.17g is printed as %s", v, upwards(v))
		}
	}
}

// The text says neither a smaller ε nor a smaller δ, and says what a seed is.
func TestStatement(t *testing.T) {
	text := State("m", dp.Gaussian{Noise: 1}, dp.Guarantee{Epsilon: 1.2345641, Delta: 1.2349e-5, Accountant: "profile"}, false).Text()
	for _, want := range []string{"ε = 1.23457 at δ = 1.2349e-05 (exact, by profile)", "up to twice ε", "the key is not kept", "whether all are grey"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	seeded := State("m", dp.Gaussian{Noise: 1}, dp.Guarantee{}, true).Text()
	if !strings.Contains(seeded, "NOT PRIVATE") || !strings.Contains(seeded, "Protected:\n  nothing") {
		t.Errorf("a seed is said to protect:\n%s", seeded)
	}
}
