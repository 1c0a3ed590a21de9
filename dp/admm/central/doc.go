// Package central finds the optimum of a distributed transport problem with all utilities in one place: the reference that distributed
// runs are measured against, with a proof of how good it is.
//
// # In words
//
// Linear utilities make the problem a linear program, and one with the structure of transport: split every node into what it must have
// (Min) and what it may have (Max − Min), let a dummy on each side take what may stay away, and forbid edges that are not there by a cost
// that no optimum pays. Linear does this and asks the network simplex of ot/exact, whose masses are exact and whose answer
// carries dual potentials. Gonum's simplex solves the same program with dense matrices: the tests ask both. It is not used here because
// it keeps (targets + sources)² numbers for a basis that is a tree, meets degenerate bases without a rule against cycling, and
// returns no dual: the case study takes it long, and a network of 10⁴ edges is out of reach.
//
// Concave utilities are Newton's method on a logarithmic barrier (primal-dual interior point). Projected Newton handles bounds on variables, not on
// sums, and would need an outer loop for the latter; the barrier does both and yields a duality gap.
//
//	optimum, err := central.Solve(ctx, prob)
//	fmt.Println(optimum.Value, optimum.Gap) // no plan is better by more than Gap
//
// # Sources
//
// Boyd, Vandenberghe, "Convex Optimization", 11.7 (the primal-dual method). Wright, "Primal-Dual Interior-Point Methods" (1997).
package central
