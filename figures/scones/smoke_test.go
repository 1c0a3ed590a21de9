package scones

import (
	"testing"

	"coupling/figures/figtest"
	"coupling/lab"
)

func TestSmoke(t *testing.T) { figtest.Smoke(t, Figures()) }

func TestNulls(t *testing.T) {
	figtest.Nulls(t, []lab.Figure{lab.FigureOf(Rate), lab.FigureOf(Tab3), lab.FigureOf(LogConcave), lab.FigureOf(Width)})
}
