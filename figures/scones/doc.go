// Package scones holds the figures and tables of "Score-based generative neural networks for large-scale optimal transport"
// (Daniels, Maunu and Hand 2021), and what the paper leaves out on the same axes.
//
// In words: gaussians is Table 2 with potentials that are exact, fitted by the paper's Algorithm 1 and fitted as LightSB,
// beside the floor that finite samples set and the coupling that knows nothing; divergences is Table 3, checked; swissroll
// is Figure 4, exact and by networks, beside the discrete plan; digits is Figure 3, with a small score network at quick and the exact score of the noised
// digits beside it; faces is Figures 1 and 2 and Table 1, on CIFAR-10 until users bring CelebA; mnist-gaussian is Table 7, which the
// paper leaves without a result, in closed form and by networks; logconcave is Lemma B.4, rate is Appendix B.1 and width is Theorems 4.2 and 4.3, with what
// of them holds.
//
// Trainings and chains are stored in the cell's scratch on the way: a cell that was killed goes on, and ends with the same bits.
//
// λ is the coefficient of D_f(π‖σ⊗τ) at the cost |x−y|². BW-UVP is in percent.
package scones
