// Package account computes the privacy cost of private rounds of distributed transport for a node.
//
// # Example
//
// A node of four edges has shared its decisions 100 times with norm noise, each time with ε = 0.1
// for one utility parameter. The sum is 10; knowing only that each round has ε = 0.1 one can prove
// 4.77 at δ = 1e-6; knowing the noise, 2.23:
//
//	a, err := account.Spend(ctx, 0.1, 4, 100, 1e-6)
//	fmt.Print(a) // the three, each with what it proves
//
// A Budget is the inverse: it gives the number of rounds that a node may take part in.
//
// Rounds may depend on earlier messages (adaptive composition): a node's decision depends on its
// parameters and on earlier messages, and given those the sensitivity is the same in each round.
//
// # Sources
//
// Kairouz, Oh, Viswanath, "The composition theorem for differential privacy" (2015); Zhu, Dong,
// Wang, "Optimal accounting of differential privacy via characteristic function" (2022), for the
// composition of dominating pairs; Chaudhuri, Monteleoni, Sarwate 2011 for the noise.
package account
