package scones

import (
	"coupling/figures/style"
	"coupling/lab"
)

// Figures lists the figures of the paper, the quick ones first.
func Figures() []lab.Figure {
	return []lab.Figure{lab.FigureOf(Tab3), lab.FigureOf(LogConcave), lab.FigureOf(Tab7), lab.FigureOf(Rate), lab.FigureOf(Width), lab.FigureOf(Fig4), lab.FigureOf(Tab2), Faces(), Digits()}
}

// every is how many steps trainings and chains make between stores; 0 leaves it to their packages. What comes out does not depend
// on it.
var every int

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
