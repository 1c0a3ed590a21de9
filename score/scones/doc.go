// Package scones samples couplings by their scores, after Daniels, Maunu and Hand, "Score-based
// generative neural networks for large-scale optimal transport" (2021).
//
// Optimal transport from σ to τ with cost c and regularisation λ D_f(π‖σ⊗τ) has the plan
//
//	π(x, y) = M(V(x, y)) σ(x) τ(y),     V = φ(x) + ψ(y) − c(x, y),     M(V) = f*′(V/λ),
//
// so that y given x has the score ∇ log τ(y) + ∇_y log M(V): the score of the target, which may
// have been learnt independently of the transport problem, plus that of a factor given by the
// potentials.
//
//	Compatibility     M, its logarithm and slope, its penalty λf*(V/λ); the soft-plus of the χ² experiments
//	Potential         φ or ψ: Quadratic (exact between Gaussians), Discrete (those of plans between points,
//	                  off these, under any divergence), networks (scones/neural)
//	Ascent            Algorithm 1: any two Models by stochastic ascent of the dual, in paired or full batches
//	Coupling          potentials and the score of the target; Given(x) is a score.Field: Algorithm 2 samples it
//	scones/light      potentials that are mixtures of Gaussians, whose conditional laws are too: nothing to anneal
//	Fit               all of it from two clouds of points under KL; FitRegularised under other divergences
//
// # Example
//
// Between N(0, 1) and N(0, 4) on the line at λ = 4, ot/gaussian has the plan in closed form: y
// given x = 1 is N(1.24, 2.47). Potentials turns it into two Quadratics; a Coupling of them with
// score.NewGaussian(nil, 4) as its Target, Given the source 1 a thousand times over, is a field;
// score.Langevin{Step: .05, Steps: 400} moves a thousand chains, and their mean and variance are
// those of the closed form. See the example.
//
// # Conventions
//
// Costs are |x−y|², or with Mean |x−y|²/d, the mean over pixels of the paper's images. λ multiplies
// D_f in the convention of ot/fdiv: KL has f(v) = v log v and M(V) = exp(V/λ − 1), so that its
// potentials are those of ot and ot/gaussian plus λ/2 each. Rows are points.
//
// # Where the paper and its code differ
//
// Algorithm 1 sums over the m×m pairs of a batch; the code takes the m pairs (x_i, y_i). For χ²
// regularisation M is max(V, 0)/2λ, whose logarithm is −∞ where V ≤ 0; the paper smooths it with a
// soft-plus of sharpness β (1000 for digits, 10 for faces), and the code, which reads β from the
// wrong place, ran with β = 1, at which λ cancels out of the score. Theorem 4.3 fails under KL for
// potentials whose plan does not have mass one.
//
// Further sources: Seguy et al., "Large-scale optimal transport and mapping estimation" (2018); Korotin, Gushchin and
// Burnaev, "Light Schrödinger bridge" (2024); Janati et al. (2020) for Gaussians.
package scones
