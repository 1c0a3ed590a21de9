package dp_test

import (
	"testing"

	"coupling/dp"
	"coupling/dp/dptest"
	"coupling/dp/pair"
)

// Profile must answer single steps.
func TestConformanceProfile(t *testing.T) {
	dptest.Run(t, dptest.Subject{
		Accountant: dp.Profile{},
		Answers:    func(steps []pair.Step) bool { return len(steps) == 1 && steps[0].Times == 1 },
		RelWidth:   1e-8,
	})
}
