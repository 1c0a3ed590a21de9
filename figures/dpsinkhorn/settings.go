package dpsinkhorn

import (
	"coupling/figures/style"
	"coupling/lab"
)

// Figures lists the figures, the quick ones first.
func Figures() []lab.Figure {
	return []lab.Figure{lab.FigureOf(Accounting), lab.FigureOf(Fig2), lab.FigureOf(Fig3), lab.FigureOf(Fig4b), lab.FigureOf(Fig4c), lab.FigureOf(Fig6), lab.FigureOf(Tab1), lab.FigureOf(Tab3), lab.FigureOf(Tab6), Robustness(), Mixture(), Samples(), Ablation()}
}

// badge marks what is smaller than the paper preset.
func badge(set lab.Setting, sizes string, samples ...string) string {
	if set.Preset == lab.Paper {
		return style.Remarks(samples...)
	}
	return style.SmallerThanPaper(string(set.Preset), style.Remarks(append([]string{sizes}, samples...)...))
}

// pick returns the value of a preset.
func pick[T any](p lab.Preset, smoke, quick, paper T) T {
	switch p {
	case lab.Smoke:
		return smoke
	case lab.Paper:
		return paper
	}
	return quick
}
