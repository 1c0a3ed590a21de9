package light_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"coupling/ot/gaussian"
	"coupling/score/scones/light"

	"gonum.org/v1/gonum/mat"
)

// Between N(0, 1) and N(0, 4) the plan at λ = 4 is Gaussian, with E[y|x] = 1.24x.
func ExampleFit() {
	p, q := gaussian.Normal{Cov: mat.NewSymDense(1, []float64{1})},
		gaussian.Normal{Cov: mat.NewSymDense(1, []float64{4})}
	plan, err := light.Fit{Lambda: 4, Steps: 1500}.Run(context.Background(), rand.New(rand.NewPCG(1, 2)),
		p.Sample, q.Sample)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.1f\n", plan.Barycentric(mat.NewDense(1, 1, []float64{1})).At(0, 0))
	// Output: 1.2
}
