package scones

import "coupling/lab"

// Figures lists the figures of the paper, the quick ones first.
func Figures() []lab.Figure {
	return []lab.Figure{
		lab.FigureOf(Tab3), lab.FigureOf(LogConcave), lab.FigureOf(Rate), lab.FigureOf(Width), lab.FigureOf(Fig1), lab.FigureOf(Fig2), lab.FigureOf(Fig3),
		lab.FigureOf(Tab1), lab.FigureOf(Fig4), lab.FigureOf(Tab2), lab.FigureOf(Tab7),
	}
}

// every is how many steps trainings and chains make between stores; 0 leaves it to their packages. What comes out does not depend
// on it.
var every int
