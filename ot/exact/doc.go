// Package exact solves optimal transport without regularisation, and proves each answer with dual potentials.
//
//	W = min ⟨T, C⟩ over T ≥ 0 with T1 = a, Tᵀ1 = b        (primal)
//	  = max ⟨a, f⟩ + ⟨b, g⟩ over f_i + g_j ≤ C_ij          (dual)
//
// [Simplex] takes any n×m cost, dense or computed a row at a time, +Inf for pairs that are
// forbidden, and returns an optimal vertex: a plan of at most n+m−1 arcs. [Line] takes two weighted
// samples on the line and a convex cost |x−y|^p, which sorting solves, [Circle] the same on a circle, and
// [Partial] moves a part of the mass only. All return a [Plan] with its [Certificate]: how far the
// pair (plan, potentials) can be from optimal, checked on every entry of the cost after the solver
// is done. [Certify] does the same for a plan from elsewhere.
//
// # An example in words
//
// Three bakeries with 0.5, 0.3 and 0.2 of the bread and two cafés that want half each: Simplex{}
// returns four arcs at most, each of which costs exactly f_i + g_j, while no other arc costs less
// than its f_i + g_j. The gap of the certificate is then zero, which proves that no plan is
// cheaper. See the example of [Simplex].
//
// # Conventions
//
// Weights are non-negative with positive sum, nil for uniform of total 1. Totals need not be 1 and
// must agree to 1e-9; b is rescaled to the total of a. A weight below 2^−70 of the total loses
// relative precision and one below 2^−110 counts as zero. Zero weights are ordinary: their
// potentials are the c-transforms, finite and feasible. Potentials are shifted so that ⟨a,f⟩ =
// ⟨b,g⟩. Costs may be negative, and +Inf; other costs and weights must be finite. Equal weights and
// n = m make the plan a permutation: Arcs[i] goes from i.
//
// # How
//
// Network simplex on the bipartite graph, with block pricing as in LEMON (Kovács 2015,
// "Minimum-cost flow algorithms: an experimental evaluation") over a short list of arcs of each source,
// which a pass over all costs lengthens where none of them can enter. Between few points and many,
// a problem with a part of the many suggests the first basis. The tree is kept as a preorder thread
// (Bazaraa, Jarvis and Sherali, "Linear Programming and Network Flows", chapter 9). Masses are
// 128-bit integers and the problem is perturbed in its lowest bits (Orden 1956), so that flows have
// no rounding, no basis is degenerate and the method cannot cycle. Potentials are float64,
// recomputed along the tree in twice that precision before optimality is declared.
//
// Equal weights and n = m are an assignment, which shortest augmenting paths over such lists solve faster
// (Jonker and Volgenant 1987) unless sources contend for their targets: then, and where rounding would show,
// pivots follow.
//
// On the line the sorted (north-west corner) coupling is optimal for every convex cost of x−y (Hoffman 1963), and the
// costs along its staircase give the potentials.
package exact
