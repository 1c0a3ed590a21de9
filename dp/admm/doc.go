// Package admm transports resources from sources to targets over a network whose nodes do not share
// their utilities: distributed discrete optimal transport by ADMM, plain and differentially
// private.
//
//	maximise Σ t_e(v_e) + s_e(v_e)  subject to  Min ≤ Σ v_e ≤ Max  at every node,  v ≥ 0.
//
// # Example
//
// Two clinics need vaccine and three stores have some. Only the clinic and the store at the ends of
// an edge know what a box is worth there. Each clinic keeps a copy of the amounts on its edges,
// each store another. In a round each decides on its own copy, given the edge's price, and sends it
// to the other end. The amount becomes the mean of the two, and the price rises if the clinic wants
// more than the store gives. When the copies agree, the plan is optimal:
//
//	prob := admm.Problem{Graph: admm.Complete(2, 3), TargetUtility: t, SourceUtility: s,
//		TargetBounds: tb, SourceBounds: sb}
//	result, err := admm.ADMM{}.Solve(ctx, prob)
//	plan := prob.Repair(result.Plan) // exactly feasible
//
// The messages of a round reveal utilities; package eavesdrop shows how much. In the private
// version each node adds noise of density ∝ exp(−ζ‖ξ‖) to its messages:
//
//	private := admm.Private{Budget: account.Budget{Alpha: 100}, Slope: 5}
//	result, err := admm.ADMM{Rounds: 100}.SolvePrivate(ctx, prob, private, rng)
//	spent, err := account.Spend(ctx, 100, 3, 100, 1e-6) // what 100 rounds cost a node of 3 edges
//
// # Packages
//
// Problem, Graph and Utility are the problem, with an error that names the cut where bounds cannot
// be met. A Node answers the Question of a round, and a Consensus computes from the answers the
// next question and when to stop. ADMM.Solve runs all of them in one process, and package network
// runs each node as its own process. Package account gives the privacy cost of rounds; package
// central finds the optimum with all utilities in one place, for comparison. Rounds are
// synchronous, as in the paper; package network says why.
//
// # Conventions
//
// Plans and prices are vectors over Graph.Edges. In the notes to the paper: π Plan, α Price, η Eta,
// ρ Private.Slope, ζ = η·α_p/ρ. Both start at 0, so that the prices of both copies stay equal and
// one suffices ((9)–(12) of the paper).
//
// # Limits of the ε
//
// See account.Caveats, which belong beside every number: ε protects one parameter of one node
// unless Private.Parameters is larger, the bounds and the network are not protected, and the cost
// of K rounds is that of account.Spend and not α_p. The costs of runs add up too: a Ledger in
// Secret accounts for all of them and refuses, before it is made, a release that the budget does
// not pay for.
//
// # Sources
//
// Hughes, Chen, "Differentially private ADMM-based distributed discrete optimal transport for
// resource allocation" (2022, arXiv:2211.17070), cited as the paper; Zhang, Zhu, "Consensus-based
// distributed discrete optimal transport for decentralized resource matching" (2019); Boyd et al.
// 2011 (ADMM, residuals, over-relaxation, the adaptive penalty).
package admm
