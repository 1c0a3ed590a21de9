// Package admm transports resources from sources to targets over a network whose nodes keep their utilities to themselves: distributed
// discrete optimal transport by ADMM, plain and differentially private.
//
//	maximise Σ t_e(v_e) + s_e(v_e)  subject to  Min ≤ Σ v_e ≤ Max  at every node,  v ≥ 0.
//
// # In words
//
// Two clinics ask for vaccine, three stores have some; what a box is worth on each way is known only to the clinic and to the store
// at its ends. Each clinic keeps a copy of the amounts on its edges, each store another. In a round both decide on their copy
// alone, given the edge's price, and tell the other end; the amount becomes the mean of the two, and the price rises where the
// clinic wants more than the store gives. When the copies agree nobody can gain:
//
//	prob := admm.Problem{Graph: admm.Complete(2, 3), TargetUtility: t, SourceUtility: s, TargetBounds: tb, SourceBounds: sb}
//	result, err := admm.ADMM{}.Solve(ctx, prob)
//	plan := prob.Repair(result.Plan) // exactly feasible
//
// What is told in a round betrays utilities, and package eavesdrop shows how much. In the private version each node adds noise of density
// ∝ exp(−ζ‖ξ‖) to what it tells:
//
//	private := admm.Private{Budget: account.Budget{Alpha: 100}, Slope: 5}
//	result, err := admm.ADMM{Rounds: 100}.SolvePrivate(ctx, prob, private, rng)
//	spent, err := account.Spend(100, 3, 100, 1e-6) // what 100 rounds cost a node of 3 edges
//
// # Where things are
//
// Problem, Graph and Utility are the problem, with an error that names the cut where bounds cannot be met. A Node answers the Question of a
// round, and a Consensus works out from the answers what is asked next and when to stop. ADMM.Solve plays all of them in one process, and
// package network lets each node be a process of its own. Package account says what rounds cost, package central finds the optimum with all
// utilities in one place, for comparison. Rounds are synchronous, as the paper's are: package network says why.
//
// # Conventions
//
// Plans and prices are vectors over Graph.Edges. In the notes to the paper: π Plan, α Price, η Eta, ρ Private.Slope, ζ = η·α_p/ρ. Both start at 0,
// so that the prices of both copies are equal for ever and one suffices ((9)–(12) of the paper).
//
// # What the ε does not say
//
// See account.Caveats, which belong beside every number: ε is of one parameter of one node unless Private.Parameters says more, the
// bounds and the network are not protected, and K rounds cost what account.Spend says and not α_p. Runs add up too: a Ledger in Secret keeps
// account over all of them and refuses a release that the budget does not pay for, before it is made.
//
// # Sources
//
// Hughes, Chen, "Differentially private ADMM-based distributed discrete optimal transport for resource allocation" (2022,
// arXiv:2211.17070), cited as the paper; Zhang, Zhu, "Consensus-based distributed discrete optimal transport for decentralized
// resource matching" (2019); Boyd et al. 2011 (ADMM, residuals, over-relaxation, the adaptive penalty).
package admm
