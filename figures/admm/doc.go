// Package admm holds the figures of "Differentially private ADMM-based distributed discrete optimal
// transport for resource allocation" (Hughes, Chen, 2022; arXiv:2211.17070): Figure 2 (a), (b) and
// (c) at the paper's case study, and three that go beyond it: what an eavesdropper learns, what
// rounds cost in ε, and how convergence depends on size, density and η.
//
// In words: 4 sources give to 30 targets, all joined, with utilities of integer slope 1..5 at both
// ends of each edge. Nodes that add noise to what they tell reach less.
//
// The paper does not give η, ρ, the small α_p, lower bounds or the seed. Here η = 1 unless it is
// swept, ρ = 5, the largest slope that the parameters allow, lower bounds are 0, and α_p is swept.
// Noise is ∝ exp(−ζ‖ξ‖) with ζ = ηα_p/ρ, so that another ρ only scales the axis of α_p. Target
// bounds are uniform in (1, 5), source bounds integers in 20..40.
//
// Every cell plays all nodes in one process (admm.ADMM.Solve), which gives the same bits as processes of their own.
package admm

import "coupling/lab"

// Figures lists the figures of the paper, and then those beyond it.
func Figures() []lab.Figure {
	return []lab.Figure{
		lab.FigureOf(Trajectory), lab.FigureOf(Plan), lab.FigureOf(TradeOff),
		lab.FigureOf(Eavesdropper), lab.FigureOf(Cost), lab.FigureOf(Convergence),
	}
}
