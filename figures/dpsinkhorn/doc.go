// Package dpsinkhorn makes the figures about private generators of images: what DP-Sinkhorn (Cao et
// al. 2021) costs by the accounting that holds, and what its mechanism, the private semi-dual and
// DP-MERF make of the same ε.
package dpsinkhorn

import "coupling/lab"

// Figures lists the figures by the paper's numbers.
func Figures() []lab.Figure {
	return []lab.Figure{
		lab.FigureOf(Fig2), lab.FigureOf(Fig3), lab.FigureOf(Fig4a), lab.FigureOf(Fig4b), lab.FigureOf(Fig4c),
		lab.FigureOf(Fig5), lab.FigureOf(Fig6), lab.FigureOf(Fig7),
		lab.FigureOf(Tab1), lab.FigureOf(Tab2), lab.FigureOf(Tab3), lab.FigureOf(Tab4), lab.FigureOf(Tab5),
		lab.FigureOf(Tab6), lab.FigureOf(Accounting), lab.FigureOf(Mechanisms), lab.FigureOf(Frontier),
		lab.FigureOf(Hard),
	}
}
