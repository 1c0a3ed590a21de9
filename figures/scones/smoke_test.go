package scones

import (
	"testing"

	"coupling/figures/figtest"
	"coupling/lab"
)

func TestSmoke(t *testing.T) { figtest.Smoke(t, Figures()) }

func TestNulls(t *testing.T) { figtest.Nulls(t, []lab.Figure{lab.FigureOf(Rate)}) }
