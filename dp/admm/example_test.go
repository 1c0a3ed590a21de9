package admm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"coupling/dp/admm"
)

// Two clinics, two stores; the second store suits both clinics, and has too little for both.
func Example() {
	prob := admm.Problem{
		Graph:         admm.Complete(2, 2),
		TargetUtility: []admm.Utility{admm.Linear{A: 1}, admm.Linear{A: 4}, admm.Linear{A: 2}, admm.Linear{A: 3}},
		TargetBounds:  []admm.Bounds{{Max: 3}, {Min: 1, Max: 2}},
		SourceBounds:  []admm.Bounds{{Max: 5}, {Max: 4}},
	}
	result, err := admm.ADMM{}.Solve(context.Background(), prob)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan := prob.Repair(result.Plan)
	for i, e := range prob.Graph.Edges {
		fmt.Printf("target %d from source %d: %.3f\n", e.Target, e.Source, plan[i])
	}
	fmt.Printf("%v, utility %.3f\n", result.Status, prob.Utility(plan))
	// Output:
	// target 0 from source 0: 0.000
	// target 0 from source 1: 3.000
	// target 1 from source 0: 1.000
	// target 1 from source 1: 1.000
	// converged, utility 17.000
}

// Bounds that cannot be met are an error that names the cut.
func ExampleInfeasibleError() {
	prob := admm.Problem{
		Graph:        admm.Complete(2, 1),
		TargetBounds: []admm.Bounds{{Min: 3, Max: 5}, {Min: 2, Max: 5}},
		SourceBounds: []admm.Bounds{{Max: 4}},
	}
	var cut *admm.InfeasibleError
	fmt.Println(errors.As(prob.Check(), &cut))
	fmt.Println(strings.ReplaceAll(cut.Error(), ", ", ",\n"))
	// Output:
	// true
	// admm: targets [0 1] must receive at least 5,
	// and their neighbours,
	// sources [0],
	// can give at most 4: no plan meets the bounds
}
