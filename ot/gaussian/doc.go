// Package gaussian holds the closed forms of optimal transport between Gaussians: Bures–Wasserstein
// distance and map, and the entropic plan with its value, potentials, conditionals and samples.
// They are ground truth for solvers, and baselines for learned plans.
//
//	W₂²(p, q) = |m_p − m_q|² + tr A + tr B − 2 tr (A^½ B A^½)^½
//
//	min over couplings π of  E|x−y|² + λ KL(π ‖ p⊗q):   E[y|x] = m_q + K (x − m_p),   Cov(y|x) = (λ/2) K
//	K = 2 B^½ (D + (λ/2) I)^−1 B^½,   D = (4 B^½ A B^½ + (λ/2)² I)^½,   Cov(x, y) = A K
//
// # Example
//
// On the line with variances a = b = 1 and λ = 2, K = 2/(√5 + 1) = 0.618: the plan has correlation 0.618,
// between the identity (λ → 0) and independence (λ → ∞). The transport cost is 2 − 2·0.618 = 0.764, the mutual
// information −½ log(1 − 0.618²) = 0.241 nats. See the example of [Entropic].
//
// # Conventions
//
// λ is the coefficient of KL(π‖p⊗q) for the cost |x−y|², not halved: [Entropic] with Eps = λ. The
// cost |x−y|²/2 with ε, as in the ENOT and EgEOT benchmarks, has the plan of λ = 2ε and half its
// value and potentials. The ε of Janati et al. is λ and their σ² is λ/2 here. An entropic value
// with another reference (the entropy of π) differs by the entropies of p and q, which may be
// infinite.
//
// # Singular and ill-conditioned covariances
//
// Covariances may be singular (Diracs included): the formulas above have no inverse of A or B. The
// map from a singular source alone is not defined, and its error wraps ErrSingular. A covariance
// with an eigenvalue below −1e-10 of the largest is refused (ErrCovariance), smaller negative ones,
// and positive ones up to d·2^−52 of the largest, are rounding and count as zero.
//
// # Sources
//
// Dowson and Landau 1982 (distance); Janati, Muzellec, Peyré and Cuturi 2020, "Entropic optimal transport between
// unbalanced Gaussian measures has a closed form", theorem 1, here rewritten without inverses;
// Korotin et al. 2021, "Wasserstein-2 generative networks" (BW-UVP).
package gaussian
