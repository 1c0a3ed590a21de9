// Package pair holds dominating pairs: two distributions P and Q whose privacy loss bounds that of a mechanism.
//
// A pair dominates a mechanism M under a neighbouring relation when, for all x ~ x′ and all real ε,
//
//	H(M(x)‖M(x′)) ≤ H(P‖Q),   H(P‖Q) = δ(ε) = ∫ max(p − e^ε q, 0) = P(L > ε) − e^ε Q(L > ε),   L = log p/q.
//
// An accountant needs only the distribution of the privacy loss L of the pair.
//
// # Example
//
// One step of DP-SGD with noise multiplier 1.1, Poisson sampling at rate 0.01 and one record removed has the pair
// P = 0.99 N(0, 1.1²) + 0.01 N(1, 1.1²), Q = N(0, 1.1²):
//
//	p, err := pair.Poisson(pair.Gaussian, 1.1, 0.01, 0, 1) // nothing inserted, one record removed
//	pair.Delta(p, 0.5)        // δ(0.5) of one step
//	pair.Delta(p.Swap(), 0.5) // the same with the record inserted
//	pair.Renyi(p, 2.5)        // Rényi divergence of order 2.5
//
// # The interface and the three accountants
//
// [Pair] has what every accountant needs. The Rényi accountant needs LogMoment, the PLD accountant
// LogDelta, LogTails and Support. The contour accountant integrates the Components of a [Mixture] of
// Gaussians. A [Line] has densities on a real coordinate x along which L is nondecreasing: Gaussian and
// Laplace mixtures, and norm noise. A [Discrete] pair has finitely many points: randomised response,
// integer noise and other finite mechanisms.
//
// The law of L under P needs no second quadrature: dP = e^L dQ.
//
// # Accuracy
//
// All integrals are sums of positive terms: thresholds are roots of L = ε, and the integrand p −
// e^ε q is evaluated relative to its zero, so nothing cancels. LogDelta is accurate to RelErr
// (1e-12 relative in δ for scales of at least 1/20 of the largest shift, and growing with the
// square of shift/scale below that), for δ as small as the exponent of log δ allows; near the end
// of a bounded loss, where δ falls steeply to 0, it is that accurate at an ε which is off by 1e-15
// relative. LogMoment returns a value and a bound on its error, so that value + error is on the
// safe side. For δ on the safe side, evaluate it at ε(1 − 1e-15) and add RelErr.
//
// # Conventions
//
// Natural logarithms. The direction of Poisson and Shifted is H(M(x)‖M(x′)) where x′ arises from x by inserting
// K₊ and removing K₋ records. Weights of mixtures sum to one; where a component sits at the centre between P and Q its
// weight is taken to be one minus the others. Values are immutable and safe for concurrent use.
//
// # Sources
//
// Schuchardt, Stoian, Kosmala, Günnemann, "Unified mechanism-specific amplification by subsampling
// and group privacy amplification" (NeurIPS 2024), cited as SSKG: Theorem 3.8, M.2, L.5. Zhu, Dong,
// Wang, "Optimal accounting of differential privacy via characteristic function" (AISTATS 2022) for
// dominating pairs. Balle, Barthe, Gaboardi, "Privacy amplification by subsampling" (NeurIPS 2018)
// for advanced joint convexity.
package pair
