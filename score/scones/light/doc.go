// Package light fits entropic plans whose conditional laws are mixtures of Gaussians, after
// Korotin, Gushchin and Burnaev, "Light Schrödinger bridge" (2024): no network, no score, no
// chains.
//
// # Example
//
// Between N(0, 1) and N(0, 4) on the line at λ = 4 the plan has one component. Fit{Lambda: 4}.Run
// draws points of both, and makes two thousand small steps. The law of y given x = 1 in its Plan is
// that of the closed form in ot/gaussian, N(1.24, 2.47), up to some per cent. Plan.Sample draws
// from it directly.
//
// # Conventions
//
// λ is the coefficient of KL(π‖σ⊗τ) at the cost |x−y|², as in package scones; the ε of the paper is λ/2.
package light
