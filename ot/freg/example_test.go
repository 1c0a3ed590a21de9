package freg_test

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/fdiv"
	"coupling/ot/freg"
)

// The problem of the package's documentation, above and below the λ at which the plan becomes sparse.
func Example() {
	p := ot.Problem{Geometry: ot.Dense(mat.NewDense(2, 2, []float64{0, 1, 1, 0}))}
	for _, lambda := range []float64{1, 0.2} {
		plan, err := freg.Solver{F: fdiv.ChiSquare, Lambda: lambda}.Solve(context.Background(), p)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("λ = %g: %v, value %.4f\n%.4f\n", lambda, plan.Status, plan.Dual, mat.Formatted(plan.Matrix()))
	}
	// Output:
	// λ = 1: converged, value 0.4375
	// ⎡0.3125  0.1875⎤
	// ⎣0.1875  0.3125⎦
	// λ = 0.2: converged, value 0.2000
	// ⎡0.5000  0.0000⎤
	// ⎣0.0000  0.5000⎦
}

// Potentials extend to points that were not in the problem.
func ExamplePlan_PhiAt() {
	x, y := mat.NewDense(2, 1, []float64{0, 1}), mat.NewDense(2, 1, []float64{1, 2})
	plan, err := freg.Solver{F: fdiv.Hellinger, Lambda: 1}.Solve(context.Background(),
		ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)})
	if err != nil {
		fmt.Println(err)
		return
	}
	// ½ is that far from the targets
	fmt.Printf("%.4f and between them %.4f\n", plan.Phi, plan.PhiAt([]float64{0.25, 2.25}))
	// Output:
	// [1.6144 -0.3856] and between them 0.6356
}
