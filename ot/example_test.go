package ot_test

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
)

func Example() {
	x := mat.NewDense(3, 1, []float64{0, 1, 2})
	y := mat.NewDense(2, 1, []float64{0.5, 2.5})
	prob := ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)} // weights nil: uniform
	plan, err := ot.LBFGS{Eps: 0.1}.Solve(context.Background(), prob)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Status)
	fmt.Printf("%.3f\n", mat.Formatted(plan.Matrix()))
	fmt.Printf("sharp loss %.4f, KL value %.4f\n", plan.Sharp(), plan.RegKL())
	grad, err := plan.GradX()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", mat.Formatted(grad))
	// Output:
	// converged
	// ⎡0.333  0.000⎤
	// ⎢0.167  0.167⎥
	// ⎣0.000  0.333⎦
	// sharp loss 0.5833, KL value 0.6295
	// ⎡-0.3333⎤
	// ⎢-0.3333⎥
	// ⎣-0.3333⎦
}

func ExampleSolve() {
	cost := mat.NewDense(2, 2, []float64{0, 1, 1, 0})
	plan, err := ot.Solve(context.Background(), ot.Problem{Geometry: ot.Dense(cost), A: []float64{0.3, 0.7}}, 0.5)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Solver)
	fmt.Printf("%.4f\n", mat.Formatted(plan.Matrix()))
	// Output:
	// lbfgs
	// ⎡0.2879  0.0121⎤
	// ⎣0.2121  0.4879⎦
}

func ExampleDivergence() {
	x := mat.NewDense(2, 1, []float64{0, 1})
	y := mat.NewDense(2, 1, []float64{3, 4})
	of := ot.Divergence{Of: ot.Objective{Solver: ot.LBFGS{Eps: 0.1}, Loss: ot.RegKL}}
	d, err := of.Eval(context.Background(), x, y, nil, nil, ot.SqEuclidean, ot.ByX)
	if err != nil {
		fmt.Println(err)
		return
	}
	// A translation by 3 costs 9, and the gradient moves each of the two points by 3 in the end.
	fmt.Printf("%.4f\n%.4f\n", d.Value, mat.Formatted(d.X))
	// Output:
	// 9.0000
	// ⎡-3.0000⎤
	// ⎣-3.0000⎦
}
