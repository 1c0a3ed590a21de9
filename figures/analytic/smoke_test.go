package analytic

import (
	"testing"

	"coupling/figures/figtest"
	"coupling/lab"
)

func TestSmoke(t *testing.T) {
	figures := []lab.Figure{Proposition1(), Precision(), Plans(), Flow(), Colour(), GradientError(), Convergence(), Scaling(), Backward()}
	figtest.Smoke(t, figures, "analytic/convergence", "analytic/scaling", "analytic/backward")
}
