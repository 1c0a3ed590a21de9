package analytic

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestOKLab(t *testing.T) {
	// Ottosson (2020): white is (1, 0, 0); the matrices are printed to ten digits, and sRGB's curve joins at 1e-7.
	if c := (rgb{1, 1, 1}).oklab(); math.Abs(c[0]-1) > 1e-6 || math.Abs(c[1]) > 1e-6 || math.Abs(c[2]) > 1e-6 {
		t.Errorf("white is %v", c)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		c := rgb{rng.Float64(), rng.Float64(), rng.Float64()}
		back := fromOKLab(c.oklab())
		for k := range c {
			if math.Abs(back[k]-c[k]) > 2e-5 { // the two matrices, as printed, are inverse to 1e-6, and the dark end is steep
				t.Fatalf("%v comes back as %v", c, back)
			}
		}
	}
}
