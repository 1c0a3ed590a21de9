package exact_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/exact"
)

func ExampleSimplex() {
	cost := mat.NewDense(3, 2, []float64{
		1, 4,
		2, 3,
		5, 1,
	})
	sol, err := exact.Simplex{}.Solve(context.Background(),
		ot.Problem{Geometry: ot.Dense(cost), A: []float64{.5, .3, .2}, B: []float64{.5, .5}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, arc := range sol.Arcs {
		fmt.Printf("%d → %d: %.2f\n", arc.I, arc.J, arc.Mass)
	}
	fmt.Printf("value %.2f, at most %.0e above the optimum\n", sol.Value, sol.Certificate.Bound())
	// Output:
	// 0 → 0: 0.50
	// 1 → 1: 0.30
	// 2 → 1: 0.20
	// value 1.60, at most 0e+00 above the optimum
}

func ExampleSimplex_assignment() {
	cost := mat.NewDense(3, 3, []float64{
		4, 1, 3,
		2, 0, 5,
		3, 2, 2,
	})
	sol, _ := exact.Simplex{}.Solve(context.Background(), ot.Problem{Geometry: ot.Dense(cost)})
	for _, arc := range sol.Arcs {
		fmt.Print(arc.I, " → ", arc.J, "; ")
	}
	// Output: 0 → 1; 1 → 0; 2 → 2;
}

// Three workers, who can each do some of three jobs; two of them can do only one.
func ExampleSimplex_sparse() {
	crowded := cost.Sparse(3, []int{0, 1, 2, 5}, []int{0, 0, 0, 1, 2}, []float64{1, 1, 1, 1, 1})
	_, err := exact.Simplex{}.Solve(context.Background(), ot.Problem{Geometry: crowded})
	fmt.Println(err)
	jobs := cost.Sparse(3, []int{0, 2, 4, 5}, []int{0, 1, 1, 2, 1}, []float64{4, 1, 2, 3, 2})
	sol, _ := exact.Simplex{}.Solve(context.Background(), ot.Problem{Geometry: jobs})
	for _, arc := range sol.Arcs {
		fmt.Print(arc.I, " → ", arc.J, "; ")
	}
	// Output:
	// ot/exact: sources 0, 1 have mass 0.666667 in all, and the allowed targets (1) room for 0.333333: no plan
	// 0 → 0; 1 → 2; 2 → 1;
}

func ExampleLine() {
	x, y := []float64{0, 1, 3}, []float64{5, 6, 8}
	w1, _ := exact.Line{P: 1}.Value(x, nil, y, nil)
	sol, _ := exact.Line{P: 2}.Solve(context.Background(), x, []float64{.5, .25, .25}, y, nil)
	fmt.Printf("W₁ = %.4f, W₂² = %.4f over %d arcs\n", w1, sol.Value, len(sol.Arcs))
	// Output: W₁ = 5.0000, W₂² = 28.8333 over 5 arcs
}

// Every direction sees a part of a translation by (4, 2): on average half of its square, 20.
func ExampleSliced() {
	x := mat.NewDense(3, 2, []float64{0, 0, 1, 0, 0, 1})
	y := mat.NewDense(3, 2, []float64{4, 2, 5, 2, 4, 3})
	v, err := exact.Sliced{Directions: 10_000}.Value(context.Background(), rand.New(rand.NewPCG(1, 2)), x, y, nil, nil)
	fmt.Printf("%.0f %v\n", v, err)
	// Output: 10 <nil>
}
