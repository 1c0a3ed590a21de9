// Package scones holds the figures and tables of "Score-based generative neural networks for
// large-scale optimal transport" (Daniels, Maunu and Hand 2021), and what the paper leaves out on
// the same axes.
//
// Tab2 has potentials that are exact, fitted by the paper's Algorithm 1 and fitted as LightSB,
// beside the floor that finite samples set and the coupling that knows nothing; Tab3 is checked;
// Fig4 is drawn exactly and by networks, beside the discrete plan; Fig3 has the score of a mixture
// of Gaussians, a network's where one is trained, and the exact score of the noised digits; Fig1,
// Fig2 and Tab1 are views of the same cells, one for each divergence, on Fashion-MNIST until users
// bring CelebA; Tab7, which the paper leaves without a result, is in closed form and learnt;
// LogConcave is Lemma B.4, Rate is Appendix B.1 and Width is Theorems 4.2 and 4.3, with what of
// them holds.
//
// Trainings and chains are stored in the cell's scratch on the way: a cell that was killed goes on,
// and ends with the same bits.
//
// λ is the coefficient of D_f(π‖σ⊗τ) at the cost |x−y|². BW-UVP is in percent.
package scones

import "coupling/lab"

// Figures lists the figures of the paper, in its order, then ours.
func Figures() []lab.Figure {
	return []lab.Figure{
		lab.FigureOf(Fig1), lab.FigureOf(Fig2), lab.FigureOf(Fig3), lab.FigureOf(Fig4), lab.FigureOf(Tab1),
		lab.FigureOf(Tab2), lab.FigureOf(Tab3), lab.FigureOf(Tab7),
		lab.FigureOf(LogConcave), lab.FigureOf(Rate), lab.FigureOf(Width),
	}
}

// every is how many steps trainings and chains make between stores; 0 leaves it to their packages.
// What comes out does not depend on it.
var every int
