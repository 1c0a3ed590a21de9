package analytic

import "coupling/lab"

// Figures lists the figures of the paper, those that are quick to make first.
func Figures() []lab.Figure {
	return []lab.Figure{
		lab.FigureOf(Proposition1), lab.FigureOf(Plans), lab.FigureOf(Precision), lab.FigureOf(Colour), lab.FigureOf(Backward),
		lab.FigureOf(GradientError), lab.FigureOf(Flow), lab.FigureOf(Generator), lab.FigureOf(Convergence), lab.FigureOf(Scaling),
	}
}
