// Package contour computes δ(ε) and ε(δ) of composed Gaussian mixture mechanisms exactly, in about
// a millisecond, however often they are composed.
//
// # Example
//
// A step of DP-SGD is dominated by the pair P = (1−q)·N(0, σ²) + q·N(1, σ²), Q = N(0, σ²). Its privacy loss L = log p/q
// has the log-moment K(z) = log E_P e^{zL}; T steps have T·K(z). The hockey-stick divergence of the composition is the
// inverse Laplace transform
//
//	δ(ε) = E(1 − e^{ε−L})₊ = (1/π) ∫₀^∞ Re[ exp(ΣT·K(z) − zε) / (z(z+1)) ] dy,   z = s + iy,
//
// for any s > 0. Through the saddle point s the integrand is a bell of width 1/√(T·K″): some forty values of K(z),
// each a sum over a hundred nodes, give eleven digits of δ for T = 1 000 and for T = 85 000 000:
//
//	p, _ := pair.Poisson(pair.Gaussian, 1.5, 1.0/1200, 0, 1)
//	b, err := contour.Accountant{}.Bound(ctx, []pair.Step{{Pair: p, Times: 160_000}}, pair.EpsilonAt(1e-5))
//	// b.Lower ≤ ε ≤ b.Upper, here 0.92749110535…; the width is 1e-12.
//
// # What is certified
//
// The result is an enclosure. Each source of error is bounded and added on the safe side:
//
//   - The step of the trapezoidal rule in y. By Poisson's summation formula the infinite sum is Σ_m e^{sWm} δ(ε + Wm),
//     W = 2π/step: it never falls short of δ(ε), and exceeds it by terms that Chernoff's bound at other abscissae
//     controls. (contour.aliasBound)
//   - The end of the sum in y, by upper bounds of the characteristic function of the tilted loss up to infinity,
//     from the spread and the smoothness of the loss (decay.go).
//   - The trapezoidal rule in x of each K(z), by the growth of the integrand in a strip about the real axis and by
//     Mills' ratio beyond its ends (line.go, phase.go).
//   - Rounding, to first order with constants that are generous: of the loss, the densities, the sums, of T·K and of
//     the phase of each node.
//
// Where the tail cannot be bounded below the tolerance the accountant refuses: losses with atoms
// (ErrAtoms: randomised response, Laplace), and compositions of so few or so rarely sampled steps
// that the loss nearly has them (ErrDecay). Package pld handles those. An error means that no
// number was certified; it says nothing about ε.
//
// # Conventions
//
// Natural logarithms. δ and ε are those of the pairs as directed: the guarantee for a symmetric neighbouring
// relation is the larger of the values of the pair and of its Swap, composed separately. ε is never negative.
//
// # Sources
//
// The transform: Zhu, Dong and Wang, "Optimal accounting of differential privacy via characteristic function" (AISTATS
// 2022) for the characteristic function; contour through the saddle point as in Rice, "Saddle point approximation"
// (Bell System Technical Journal 47, 1968) and Alghamdi et al., "The saddle-point method in differential privacy"
// (ICML 2023), here with exact quadrature instead of an asymptotic series. Trapezoidal rule: Trefethen and Weideman,
// "The exponentially convergent trapezoidal rule" (SIAM Review 56, 2014), Theorem 5.1. Variance of a bounded variable:
// Bhatia and Davis, "A better bound on the variance" (American Mathematical Monthly 107, 2000).
package contour
