package closed_test

import (
	"testing"

	"coupling/dp/closed"
	"coupling/dp/dptest"
	"coupling/dp/pair"
)

// The accountant must answer single steps, and randomised response repeated.
func TestConformance(t *testing.T) {
	dptest.Run(t, dptest.Subject{
		Accountant: closed.Accountant{},
		Answers: func(steps []pair.Step) bool {
			_, discrete := steps[0].Pair.(*pair.Discrete)
			return len(steps) == 1 && (steps[0].Times == 1 || discrete)
		},
		RelWidth: 1e-8,
	})
}
