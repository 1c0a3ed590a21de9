// Package ot solves entropic optimal transport between discrete measures, in float64, at any ε, with gradients.
//
// For costs c (n×m) and weights a, b that sum to one, the plan is
//
//	T* = argmin <T,c> − ε h(T)  over T ≥ 0, T1 = a, Tᵀ1 = b,    h(T) = Σ T(1 − log T),
//	T*ᵢⱼ = exp((αᵢ+βⱼ−cᵢⱼ)/ε) = aᵢ bⱼ exp((fᵢ+gⱼ−cᵢⱼ)/ε).
//
// # Which solver
//
// LBFGS, which Solve takes: on the timing problems it is the fastest but where ε is a tenth of the mean cost or more, and there
// Scaling needs no fewer evaluations. Sinkhorn and Scaling are the classics to compare with. Newton helps where atoms are
// weakly coupled, as in an assignment at small ε; LBFGS takes Newton steps by itself where its own are slow. Unbalanced solves
// problems whose marginals are penalised.
// Barycentre and FreeBarycentre find the measure in the middle of others.
//
// All of them are a rule for the next step of one function, the semi-dual. Its passes use costs and exponentials in one
// vector kernel, products with a stored kernel, or a list of the entries of T that are not negligible; a plan that says
// Converged was checked over every cost in the log domain. PEERS.md in ot/peers has times.
//
// # Use
//
// A Problem is a Geometry (a cost matrix by Dense, or two clouds of points and a cost by Points) and two weight
// vectors; a cost of +Inf forbids a pair. A solver is a struct literal; its Solve returns a Plan, which holds the potentials,
// says in Status whether it converged, and computes values, products, samples and gradients when asked:
//
//	prob := ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)}
//	plan, err := ot.LBFGS{Eps: 0.01}.Solve(ctx, prob)
//	loss := plan.Sharp()
//	grad, err := plan.GradX()
//
// Objective and Divergence are for training loops: a loss with the gradients that are asked for, at 1.2 to 3 times the time of the
// solve in it, with memory used again from step to step. NewPlan makes the plan of a solver that lives elsewhere, and Plan.At
// extends a plan to new points.
//
// # Precision
//
// T is formed relative to each row's largest entry, from differences β−c taken before dividing by ε. Where costs are so
// large against ε that float64 potentials cannot make the marginals right, the solve moves to reduced costs c − u − v,
// subtracted without loss, and the plan keeps both parts. Gradients of the sharp loss are formed from log T, and their
// linear system is solved by an elimination in which nothing is subtracted, so that they are as exact as the plan on
// singular systems too.
//
// Costs, points and results are float64. Passes that need not be, are float32: stored kernels, until the error is down to some
// 1e-6, below what that changes, and the first passes over MatrixFree clouds too large to store one for. No plan is certified
// by them.
//
// A cost carries the rounding of its own size: |x−y|² between clouds that lie far apart is known to 1e-16|x−y|², and log T
// to that over ε, whatever the solver. Subtract from each cloud its own mean first: |x−y|² changes by potentials u ⊕ v
// only, the plan not at all, and digits are won.
//
// # Small weights
//
// An L1 error does not see an atom that weighs less than it. Converged asks besides that each column be within √Tol of its
// weight, so that potentials and the derivatives by weights are right for those atoms too; LBFGS and Newton end with the steps
// that see to it. Where costs span very many ε and weights many powers of ten, neither converges by itself; then they start
// again, once and up to n·m = 1e6, from the potentials of ot/exact. PEERS.md says how often that suffices.
//
// # Devices
//
// PointsOn and DenseOn are geometries whose passes run on a device of package coupling/lab/device, a GPU or the
// processor; solvers and gradients are the same. Float32 passes converge first there and float64 passes on the device certify
// the plan, so that any Tol is reached; OnDevice says how. The processor's own geometries, Points and Dense, are faster
// than the same processor as a device: they store kernels and skip what is negligible. In many dimensions DenseOn of the
// costs is faster than PointsOn where n·m fits.
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
// Cuturi, "Sinkhorn distances" (2013); "Efficient, stable, and analytic differentiation of the Sinkhorn loss" (the
// semi-dual by L-BFGS and the analytic gradient); Schmitzer, "Stabilized sparse scaling algorithms for entropy
// regularized transport problems" (2019), for ε-annealing, absorption and sparse kernels; Grassmann, Taksar and Heyman,
// "Regenerative analysis and steady state distributions for Markov chains" (1985), for elimination without subtraction;
// Tang and Qiu, "Safe and sparse Newton method for entropic-regularized optimal transport" (2024); Lehmann, von Renesse,
// Sambale and Uschmajew, "A note on overrelaxation in the Sinkhorn algorithm" (2022).
package ot
