// Package central finds the optimum of a distributed transport problem with all utilities in one
// place: the reference for distributed runs, with a bound of its suboptimality.
//
// # Method
//
// Where utilities are linear, the problem is one of transport over the pairs of the graph, each node
// two atoms, and package exact solves it. Elsewhere the plan is that of ADMM itself, run far beyond
// its usual tolerance. The proof makes it a reference: weak duality at the prices of the run bounds
// the utility of every plan. The tests compare linear problems with gonum's simplex.
//
//	optimum, err := central.Solve(ctx, prob)
//	fmt.Println(optimum.Value, optimum.Gap) // no plan is better by more than Gap
package central
