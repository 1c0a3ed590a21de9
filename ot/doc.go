// Package ot solves entropic optimal transport between discrete measures, in float64, at any ε down to 1e-14 of what
// the costs span, with gradients.
//
// For costs c (n×m) and weights a, b that sum to one, the plan is
//
//	T* = argmin <T,c> − ε h(T)  over T ≥ 0, T1 = a, Tᵀ1 = b,    h(T) = Σ T(1 − log T),
//	T*ᵢⱼ = exp((αᵢ+βⱼ−cᵢⱼ)/ε) = aᵢ bⱼ exp((fᵢ+gⱼ−cᵢⱼ)/ε).
//
// # Which solver
//
// Use LBFGS, as Solve does: on the timing problems no other is faster by more than a tenth.
// Sinkhorn and Scaling are the classics to compare with. Newton helps where atoms are weakly
// coupled, as in an assignment at small ε; LBFGS takes Newton steps by itself where its own are
// slow. Unbalanced solves problems whose marginals are penalised. Package barycentre finds the
// barycentre of several measures.
//
// Each of them is a rule for the next step on one function, the semi-dual. A pass over it uses a
// vector kernel for costs and exponentials, products with a stored kernel, or a list of the entries
// of T that are not negligible. Between many points in at most three dimensions, at small ε, trees
// find those entries without a pass over all pairs. A plan with Status Converged was checked over
// every cost in the log domain. PEERS.md in ot/peers has times.
//
// # Use
//
// A Problem is a geometry (a cost matrix by Dense, or two clouds of points and a cost by Points) and two weight
// vectors; a cost of +Inf forbids a pair. Package cost has the types of geometries and costs, and costs with
// parameters; there, Sparse lists few allowed pairs and Grid is for images and histograms, at the cost of pairs
// and of pixels times axes. A solver is a struct literal of Eps, Tol and a Control; its Solve returns a Plan,
// which holds the potentials, says in Status whether it converged, and computes values, products, samples and
// gradients when asked:
//
//	prob := ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)}
//	plan, err := ot.LBFGS{Eps: 0.01}.Solve(ctx, prob)
//	loss := plan.Sharp()
//	grad, err := plan.GradX()
//
// Objective and Divergence are for training loops: they return a loss with the gradients asked for,
// in 1.2 to 3 times the time of the solve alone, and reuse their memory from step to step. NewPlan
// makes a plan from the potentials of a solver outside this package, and Plan.At extends a plan to
// new points.
//
// # Precision
//
// T is formed relative to each row's largest entry, from differences β−c taken before dividing by
// ε. Where costs are so large against ε that the rounding of float64 potentials limits the
// marginals, the solve moves to reduced costs c − u − v, subtracted without loss, and the plan
// keeps both parts. Gradients of the sharp loss are formed from log T, and their linear system is
// solved by an elimination without subtractions, so that those by costs and points are as exact as
// the plan even where the system is singular.
//
// Where two sets of atoms exchange less than rounding, as in an assignment at small ε, nothing in
// float64 determines the potentials of one relative to those of the other, and so the derivatives
// by weights. Plan.Coupling names such sets and the error that remains, Gradient.Weights returns
// ErrUndetermined, and terms of an Objective have the Status Undetermined.
//
// Costs, points and results are float64. Early passes with a stored kernel are float32 until the error
// is about 1e-6, where the rounding of float32 would show. A float64 pass certifies every plan.
//
// A cost carries the rounding of its own size: |x−y|² between clouds that lie far apart is known to
// 1e-16|x−y|², and log T to that over ε, whatever the solver. Subtract from each cloud its own mean
// first: |x−y|² changes by potentials u ⊕ v only, the plan does not change, and the costs are more
// exact.
//
// # Small weights
//
// An L1 error hardly depends on an atom that weighs less than the error itself. Converged therefore
// requires also that each column is within √Tol of its weight (relatively), so that potentials and
// derivatives by weights are right for small atoms too, where they are coupled; LBFGS and Newton end with steps that
// achieve it. Where costs span very many ε and weights many powers of ten, both may stagnate; they
// then restart, once and only up to n·m = 1e6, from the potentials of ot/exact. PEERS.md says how
// often that suffices.
//
// # Devices
//
// PointsOn and DenseOn are geometries whose passes run on a device of package coupling/lab/device,
// a GPU or the processor; solvers and gradients are the same. Float32 passes converge first there
// and float64 passes on the device certify the plan, so that every Tol that the host reaches is
// reached; see OnDevice. On the processor, Points and Dense are faster than PointsOn and DenseOn
// with the processor as the device: they store kernels and skip negligible entries. In many
// dimensions DenseOn is faster than PointsOn if n·m costs fit into memory.
//
//	dev, err := device.Open("auto")
//	g := ot.PointsOn(dev, x, y, ot.SqEuclidean)
//	defer g.Close()
//	plan, err := ot.LBFGS{Eps: 0.01}.Solve(ctx, ot.Problem{Geometry: g})
//
// # Conventions
//
// Squared costs are not halved. ε is in units of cost and multiplies the entropy: λ = 1/ε. The stopping rule of every
// solver is the L1 error of both marginals, Σ|T1−a| + Σ|Tᵀ1−b| ≤ Tol. By a maximum principle of the resistor network
// that T is, an L1 error of t changes no entry of T by more than about t/2.
//
// # Determinism
//
// Rows are cut into spans that depend on n and m only, and sums are added in a fixed order: the same problem gives the
// same bits for any GOMAXPROCS on a given kind of CPU.
//
// # Sources
//
// Cuturi, "Sinkhorn distances" (2013); "Efficient, stable, and analytic differentiation of the
// Sinkhorn loss" (the semi-dual by L-BFGS and the analytic gradient); Schmitzer, "Stabilized sparse
// scaling algorithms for entropy regularized transport problems" (2019), for ε-annealing,
// absorption and sparse kernels; Grassmann, Taksar and Heyman, "Regenerative analysis and steady
// state distributions for Markov chains" (1985), for elimination without subtraction; Tang and Qiu,
// "Safe and sparse Newton method for entropic-regularized optimal transport" (2024); Lehmann, von
// Renesse, Sambale and Uschmajew, "A note on overrelaxation in the Sinkhorn algorithm" (2022).
package ot
