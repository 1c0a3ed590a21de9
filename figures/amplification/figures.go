package amplification

import "coupling/lab"

// Figures lists the figures of the paper in their order.
func Figures() []lab.Figure {
	return []lab.Figure{
		lab.FigureOf(Fig3), lab.FigureOf(Fig4), lab.FigureOf(Fig5), lab.FigureOf(Fig6),
		lab.FigureOf(Fig7), lab.FigureOf(Fig8), lab.FigureOf(Fig9), lab.FigureOf(Fig10),
		lab.FigureOf(Fig11), lab.FigureOf(Fig12), lab.FigureOf(Fig13), lab.FigureOf(Fig14),
		lab.FigureOf(Fig15), lab.FigureOf(Fig16), lab.FigureOf(Fig17), lab.FigureOf(Fig18),
		lab.FigureOf(Fig19), lab.FigureOf(Fig20), lab.FigureOf(Fig21), lab.FigureOf(Fig22),
		lab.FigureOf(Fig23), lab.FigureOf(Fig24),
	}
}
