// Package freg solves discrete optimal transport that an f-divergence regularises.
//
//	min ⟨T,c⟩ + λ D_f(T‖a⊗b)  over T ≥ 0, T1 = a, Tᵀ1 = b,        D_f(T‖a⊗b) = Σ a_i b_j f(T_ij/(a_i b_j)),
//
// for the seven divergences of package fdiv, at any λ, with a certificate. Its dual is
//
//	max ⟨a,φ⟩ + ⟨b,ψ⟩ − λ Σ a_i b_j f*(u_ij),   u_ij = (φ_i + ψ_j − c_ij)/λ, and T_ij = a_i b_j M_f(u_ij), M_f = f*′.
//
// It is the ground truth for the potentials that SCONES learns by networks, and useful by itself:
// ChiSquare gives sparse plans, the bounded divergences (ReverseKL, Hellinger, JensenShannon, GAN)
// heavy-tailed ones.
//
// # Example
//
// Two atoms of mass ½ on each side, costs 0 on the diagonal and 1 off it, λ = 1, F =
// fdiv.ChiSquare. Solver{F: fdiv.ChiSquare, Lambda: 1}.Solve returns a Plan with Phi = Psi = (1.25,
// 1.25), the matrix (0.3125, 0.1875; 0.1875, 0.3125), Primal and Dual 0.4375, and a Gap that proves
// both optimal. With λ below ¼ the plan is the diagonal, exactly.
//
// # Conventions
//
// Problems, geometries, weights and Status are those of package ot; costs are not halved, λ is in units of cost, and
// weights are divided by their sum. The stopping rule is the L1 error of both marginals. Potentials have ⟨a,φ⟩ = ⟨b,ψ⟩.
// Divergences that agree on probability measures give the same plan by different potentials:
//
//	KL and package ot (ε = λ)    φ + ψ = f ⊕ g + λ, φ = f + λ/2: here f(v) = v log v, so M_f(u) = e^(u−1); there e^u.
//	                             Primal is the RegKL of ot.Values.
//	Pearson and ChiSquare        φ + ψ of Pearson is that of ChiSquare less 2λ; the values are equal.
//	JensenShannon and GAN        φ + ψ of GAN is that of JensenShannon less λ log 2, its value less λ log 4.
//
// Under ChiSquare and Pearson the potentials need not be unique where the plan is sparse: parts
// that no entry connects may shift against each other. The plan is unique for every divergence.
//
// # Method
//
// For any ψ, φ solves one equation for each row, Σ_j b_j M_f((φ_i + ψ_j − c_ij)/λ) = 1, the half
// step of generalised Sinkhorn: KL by log-sum-exp, ChiSquare and Pearson exactly, like a projection
// on a simplex, the others by Newton's method on the mean that M_f induces, within a bracket inside
// the domain of f*. The resulting semi-dual is concave and finite for every ψ. Regularised Newton
// steps (semi-smooth ones for ChiSquare and Pearson) maximise it from the potentials of exact
// transport (ChiSquare and Pearson, above 1e-4 of the mean cost: by annealing λ). The Hessian is
// the Laplacian of a weighted graph, solved by conjugate gradients or by an elimination without
// subtractions. For columns that are off by a factor of two or more, their own equation is solved,
// a half step, wherever they shortened a Newton step, and at the end: atoms of weight 1e-10 hardly
// count in the marginal error, but they do in the potentials and in the gap.
//
// Weights over many decades are the hard case of the bounded divergences, whose curvature grows
// with a power of the density: then a solve may end as Stagnated, with a Gap that bounds how far
// its plan is from optimal. ot/PEERS.md says how often, and how many steps a solve takes.
//
// # Determinism
//
// Rows are cut into spans that depend on n and m only, and sums are added in a fixed order: the same problem gives the
// same bits for any GOMAXPROCS on a given kind of CPU.
//
// # Sources
//
// Daniels, Maunu and Hand, "Score-based generative neural networks for large-scale optimal
// transport" (2021), for the dual and the divergences. Terjék and González-Sánchez, "Optimal
// transport with f-divergence regularization and generalized Sinkhorn algorithm" (2022); Di Marino
// and Gerolin, "Optimal transport losses and Sinkhorn algorithm with general convex regularization"
// (2020). Blondel, Seguy and Rolet, "Smooth and sparse optimal transport" (2018), for the semi-dual
// and simplex projections; Lorenz, Manns and Meyer, "Quadratically regularized optimal transport"
// (2021), for semi-smooth Newton steps. Altschuler, Weed and Rigollet, "Near-linear time
// approximation algorithms for optimal transport via Sinkhorn iteration" (2017), for rounding.
package freg
