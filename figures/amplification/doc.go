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
// Sensitivities are 1. Every exhibit says what kind of number each curve is.
// Nothing is random but the training of Figure 24: the seed changes no other number.
package amplification
