// Package ot solves entropic optimal transport between discrete measures, in float64, at any ε, with gradients.
//
// For costs c (n×m) and weights a, b that sum to one, the plan is
//
//	T* = argmin <T,c> − ε h(T)  over T ≥ 0, T1 = a, Tᵀ1 = b,    h(T) = Σ T(1 − log T),
//	T*ᵢⱼ = exp((αᵢ+βⱼ−cᵢⱼ)/ε) = aᵢ bⱼ exp((fᵢ+gⱼ−cᵢⱼ)/ε).
//
// # In words
//
// A Problem is a Geometry (a cost matrix by Dense, or two clouds of points and a cost by Points) and two weight
// vectors. A solver is a struct literal; its Solve returns a Plan, which holds the potentials, says in Status whether it
// converged, and computes values, products, samples and gradients when asked:
//
//	prob := ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)}
//	plan, err := ot.LBFGS{Eps: 0.01}.Solve(ctx, prob)
//	loss, grad := plan.Sharp(), plan.GradX()
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
// regularized transport problems" (2019), for ε-annealing; Lehmann, von Renesse, Sambale and Uschmajew, "A note on
// overrelaxation in the Sinkhorn algorithm" (2022).
package ot
