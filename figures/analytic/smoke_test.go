package analytic

import (
	"testing"

	"coupling/figures/figtest"
)

func TestSmoke(t *testing.T) {
	figtest.Smoke(t, Figures())
}
