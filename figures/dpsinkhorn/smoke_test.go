package dpsinkhorn

import (
	"testing"

	"coupling/figures/figtest"
	"coupling/lab"
)

func TestSmoke(t *testing.T) {
	first := lab.FigureOf(Fig7) // trains, draws and claims in a second
	figtest.Smoke(t, append([]lab.Figure{first}, Figures()...))
}
