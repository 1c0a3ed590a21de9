package analytic

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func TestOKLab(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	colours := mat.NewDense(100, 3, nil)
	colours.Apply(func(i, _ int, _ float64) float64 {
		if i == 0 {
			return 1
		}
		return rng.Float64()
	}, colours)
	there := inOKLab(colours)
	// Ottosson (2020): white is (1, 0, 0); the library goes by XYZ, whose matrix has four digits.
	if white := there.Slice(0, 1, 0, 3); !mat.EqualApprox(white, mat.NewDense(1, 3, []float64{1, 0, 0}), 2e-4) {
		t.Errorf("white is %v", white)
	}
	if back := inSRGB(there); !mat.EqualApprox(back, colours, 4e-3) { // a step of eight bits; the dark end is steep
		t.Error("colours do not come back")
	}
}
