// Package amplification holds the figures of "Unified mechanism-specific
// amplification by subsampling and group privacy amplification" (Schuchardt,
// Stoian, Kosmala, Günnemann, NeurIPS 2024; SSKG), at the paper's settings:
// Figures 3 to 6 of the text and 7 to 24 of the appendix.
//
// In words: a group of K records enters or leaves a data set of which batches
// are sampled. How private is a step, and how private are many? The figures
// compare bounds. "Specific" is the paper's, which knows the mechanism and is
// tight; "agnostic" knows only the privacy parameters of the mechanism;
// "post-hoc" applies group privacy to the bound for one record.
//
// One generator serves many figures, and their cells are shared:
//
//	profile     δ(ε) of one step                  4, 5, 8–10, 14–16
//	renyi       ρ(α) of one step                  11, 17, 22, 23
//	wor         ρ(α) of randomised response       3, 7
//	transport   ρ(α) without conditioning         12
//	replacement δ(ε) with replacement             13
//	composed    δ(ε) of many steps                6, 18–21, 24
//	allowed     steps that a budget allows        6, 18–21, 24
//	mnist       accuracy of DP-SGD over steps     24
//
// Sampling and Recipes are not the paper's: ε over epochs by the way in which batches are drawn, and what recipes of
// DP-SGD are worth.
//
// Sensitivities are 1. Every exhibit says what kind of number each curve is.
// Nothing is random but the trainings of Figure 24 and of Recipes: the seed changes no other number.
package amplification

import "coupling/lab"

// Figures lists the figures of the paper in their order, and two of our own.
func Figures() []lab.Figure {
	return []lab.Figure{
		lab.FigureOf(Fig3), lab.FigureOf(Fig4), lab.FigureOf(Fig5), lab.FigureOf(Fig6),
		lab.FigureOf(Fig7), lab.FigureOf(Fig8), lab.FigureOf(Fig9), lab.FigureOf(Fig10),
		lab.FigureOf(Fig11), lab.FigureOf(Fig12), lab.FigureOf(Fig13), lab.FigureOf(Fig14),
		lab.FigureOf(Fig15), lab.FigureOf(Fig16), lab.FigureOf(Fig17), lab.FigureOf(Fig18),
		lab.FigureOf(Fig19), lab.FigureOf(Fig20), lab.FigureOf(Fig21), lab.FigureOf(Fig22),
		lab.FigureOf(Fig23), lab.FigureOf(Fig24), lab.FigureOf(Sampling), lab.FigureOf(Recipes),
	}
}
