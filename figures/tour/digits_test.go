package tour

import (
	"testing"

	"coupling/figures/figtest"
	"coupling/lab"
)

func TestSmoke(t *testing.T) { figtest.Smoke(t, []lab.Figure{lab.FigureOf(Digits)}) }
