package dp_test

import (
	"testing"

	"coupling/dp"
	"coupling/dp/dptest"
	"coupling/dp/pair"
)

// Profile must answer single steps, and randomised response repeated.
func TestConformanceProfile(t *testing.T) {
	dptest.Run(t, dptest.Subject{
		Accountant: dp.Profile{},
		Answers: func(steps []pair.Step) bool {
			_, discrete := steps[0].Pair.(*pair.Discrete)
			return len(steps) == 1 && (steps[0].Times == 1 || discrete)
		},
		RelWidth: 1e-8,
	})
}
