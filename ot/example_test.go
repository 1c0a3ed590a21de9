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

// A training step moves points along the gradient of the divergence; memory and, with Warm, potentials are carried along.
func ExampleObjective() {
	x := mat.NewDense(3, 1, []float64{0, 1, 2})
	y := mat.NewDense(3, 1, []float64{4, 5, 6})
	loss := ot.Divergence{Of: ot.Objective{Solver: ot.LBFGS{Eps: 0.1, Tol: 1e-6}, Loss: ot.RegKL, Warm: true}}
	for range 20 {
		d, err := loss.Eval(context.Background(), x, y, nil, nil, ot.SqEuclidean, ot.ByX)
		if err != nil {
			fmt.Println(err)
			return
		}
		d.X.Scale(-0.75, d.X) // the gradient of a point of weight 1/3 is 2/3 of the way
		x.Add(x, d.X)
	}
	fmt.Printf("%.2f\n", mat.Formatted(x.T()))
	// Output: [4.00  5.00  6.00]
}

// ExamplePlan_At sends a point that was not in the problem where the plan sends its neighbours.
func ExamplePlan_At() {
	x := mat.NewDense(3, 1, []float64{0, 1, 2})
	y := mat.NewDense(3, 1, []float64{10, 11, 12})
	plan, err := ot.Solve(context.Background(), ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)}, 0.1)
	if err != nil {
		fmt.Println(err)
		return
	}
	moved, err := plan.At(mat.NewDense(2, 1, []float64{0.1, 1.9}))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f\n", mat.Formatted(moved.Barycentric(y)))
	// Output:
	// ⎡10.00⎤
	// ⎣12.00⎦
}
