package analytic

import (
	"math"
	"math/rand/v2"
	"testing"

	"coupling/ot"
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

// At the sources, the softmin that extends the plan is the barycentric projection.
func TestSoftminExtendsTheProjection(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := sunset(rng, 20, 12).sample(rng, 30), forest(rng, 20, 12).sample(rng, 40)
	plan, err := ot.LBFGS{Eps: 0.01, Tol: 1e-11}.Solve(t.Context(), ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)})
	if err != nil {
		t.Fatal(err)
	}
	want := plan.Barycentric(y)
	f := softmin{points: y, potential: plan.G, weight: plan.B, eps: plan.Eps}
	for i := range 30 {
		got := f.at([3]float64(x.RawRowView(i)))
		for k, v := range got {
			if math.Abs(v-want.At(i, k)) > 1e-12 { // roundings of a sum of 40
				t.Errorf("source %d goes to %v, want %v", i, got, want.RawRowView(i))
			}
		}
	}
}
