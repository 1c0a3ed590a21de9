package bias

import (
	"testing"

	"coupling/figures/figtest"
	"coupling/lab"
)

// The figure is computed and drawn at its smallest size; its claim holds, and fails on garbage.
func TestBias(t *testing.T) { figtest.Smoke(t, []lab.Figure{Study().Figure()}) }
