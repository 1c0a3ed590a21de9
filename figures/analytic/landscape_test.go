package analytic

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestOKLab(t *testing.T) {
	// Ottosson (2020): white is (1, 0, 0); the library goes by XYZ, whose matrix has four digits.
	if c := (rgb{1, 1, 1}).oklab(); math.Abs(c[0]-1) > 2e-4 || math.Abs(c[1]) > 2e-4 || math.Abs(c[2]) > 2e-4 {
		t.Errorf("white is %v", c)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		c := rgb{rng.Float64(), rng.Float64(), rng.Float64()}
		back := fromOKLab(c.oklab())
		for k := range c {
			if math.Abs(back[k]-c[k]) > 4e-3 { // a step of eight bits; the dark end is steep
				t.Fatalf("%v comes back as %v", c, back)
			}
		}
	}
}
