package ot_test

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/cost"
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

// A training step moves points along the gradient of the divergence; memory and, with Warm,
// potentials are carried along.
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

// line is a small problem: three points on a line and two others.
var line = ot.Problem{Geometry: ot.Points(mat.NewDense(3, 1, []float64{0, 1, 2}),
	mat.NewDense(2, 1, []float64{0.5, 2.5}), ot.SqEuclidean)}

// report prints the end of a solve, or why there is none.
func report(plan *ot.Plan, err error) {
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %v, sharp loss %.4f\n", plan.Solver, plan.Status, plan.Sharp())
}

// A warm start: the potentials of one ε are near those of the next.
func ExampleLBFGS() {
	coarse, err := ot.LBFGS{Eps: 0.2}.Solve(context.Background(), line)
	report(coarse, err)
	fine, err := ot.LBFGS{Eps: 0.1, Control: ot.Control{Start: coarse.G}}.Solve(context.Background(), line)
	report(fine, err)
	// Output:
	// lbfgs: converged, sharp loss 0.5833
	// lbfgs: converged, sharp loss 0.5833
}

func ExampleNewton() {
	report(ot.Newton{Eps: 0.1, Tol: 1e-12}.Solve(context.Background(), line))
	// Output:
	// newton: converged, sharp loss 0.5833
}

func ExampleSinkhorn() {
	report(ot.Sinkhorn{Eps: 0.1}.Solve(context.Background(), line))
	// Output:
	// sinkhorn: converged, sharp loss 0.5833
}

// Scaling is for large ε; at small ones its kernel underflows, and it says so.
func ExampleScaling() {
	report(ot.Scaling{Eps: 1}.Solve(context.Background(), line))
	report(ot.Scaling{Eps: 1e-3}.Solve(context.Background(), line))
	// Output:
	// scaling: converged, sharp loss 0.6313
	// ot: Scaling: Eps = 0.001: the costs span 6000 ε, more than 300: use LBFGS
}

// Marginals may be missed at a price: the target at 2.5 asks its one neighbour for more than a third.
// Two images of 3×3 pixels: all mass in one corner goes to the opposite one.
func ExampleSolve_grid() {
	line := mat.NewDense(3, 1, []float64{0, 1, 2})
	axis := ot.Cost(ot.Points(line, line, ot.SqEuclidean))
	from := []float64{1, 0, 0, 0, 0, 0, 0, 0, 0}
	to := []float64{0, 0, 0, 0, 0, 0, 0, 0, 1}
	plan, err := ot.Solve(context.Background(), ot.Problem{Geometry: cost.Grid(axis, axis), A: from, B: to}, 0.5)
	fmt.Println(plan.Sharp(), err)
	// Output: 8 <nil>
}

func ExampleUnbalanced() {
	plan, err := ot.Unbalanced{Eps: 0.1, RhoA: 1, RhoB: 1}.Solve(context.Background(), line)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v, mass %.4f, from each source %.4f\n", plan.Status, plan.Value().Mass, plan.Apply([]float64{1, 1}))
	// Output:
	// converged, mass 0.8466, from each source [0.2497 0.2497 0.3473]
}

func ExampleBatch() {
	plans, err := ot.Batch{Solver: ot.LBFGS{Eps: 0.1}}.Solve(context.Background(), []ot.Problem{line, line})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(plans), plans[0].Status, plans[1].Status)
	// Output:
	// 2 converged converged
}

// ring is a geometry of one's own: n sources and targets on a circle, with the arc between them as the cost.
type ring int

func (r ring) Dims() (n, m int) { return int(r), int(r) }

func (r ring) Row(i int, buf []float64) []float64 {
	for j := range buf {
		k := (i - j + int(r)) % int(r)
		buf[j] = float64(min(k, int(r)-k)) / float64(r)
	}
	return buf
}

func ExampleGeometry() {
	plan, err := ot.Solve(context.Background(), ot.Problem{Geometry: ring(8), A: []float64{1, 0, 0, 0, 0, 0, 0, 0}},
		0.1)
	report(plan, err)
	// Output:
	// lbfgs: converged, sharp loss 0.2500
}

// rows is a solver of one's own, which matches the sources only: its potentials of the targets are 0.
type rows struct{ eps float64 }

func (s rows) Solve(_ context.Context, p ot.Problem) (*ot.Plan, error) {
	_, m := p.Geometry.Dims()
	plan, err := ot.NewPlan(p, s.eps, make([]float64, m))
	if err == nil {
		plan.Solver, plan.Status = "rows", ot.IterationLimit
	}
	return plan, err
}

func ExampleNewPlan() {
	plan, err := rows{eps: 0.1}.Solve(context.Background(), line)
	report(plan, err)
	fmt.Printf("L1 error %.4f\n", plan.MarginalL1)
	// Output:
	// rows: iteration limit, sharp loss 0.2500
	// L1 error 0.3333
}
