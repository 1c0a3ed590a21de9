// Package analytic holds the figures of "Efficient, stable, and analytic differentiation of the
// Sinkhorn loss". Of that paper abstract, introduction and method are at hand; its tables are not.
// So each figure is one of its claims, measured here, and generator is the experiment of the
// authors' public rebuttal repository: plain Sinkhorn loses precision in simple settings,
// log-domain Sinkhorn converges slowly, L-BFGS on the semi-dual is accurate and fast, the analytic
// backward pass is cheaper than unrolling, and the sharp loss is close to the Wasserstein distance.
//
// In words: gradient-error solves small problems in hundreds of bits, so that
// the error of each way to differentiate is known; precision and plans compare
// with a solution certified by its marginals; proposition1 compares with exact
// transport. Times are processor times, measured by the cell that compares them, all solvers in
// one run and on one thread, and belong to the machine in its manifest.
//
// Plans and losses are those of package ot: T = argmin <T,c> − ε h(T), λ = 1/ε,
// squared costs not halved; the sharp loss is <T,c>. ε is given as a fraction of
// the mean cost under a⊗b.
package analytic

import "coupling/lab"

// Figures lists the figures of the paper, those that are quick to make first.
func Figures() []lab.Figure {
	return []lab.Figure{
		lab.FigureOf(Proposition1), lab.FigureOf(Plans), lab.FigureOf(Precision), lab.FigureOf(Colour),
		lab.FigureOf(Backward),
		lab.FigureOf(GradientError), lab.FigureOf(Flow), lab.FigureOf(Generator), lab.FigureOf(Convergence),
		lab.FigureOf(Scaling),
	}
}
