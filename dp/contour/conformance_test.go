package contour_test

import (
	"testing"

	"coupling/dp/contour"
	"coupling/dp/dptest"
	"coupling/dp/pair"
)

func TestConformance(t *testing.T) {
	dptest.Run(t, dptest.Subject{
		Accountant: contour.Accountant{Work: 2e6},
		// Few steps, rare ones and atoms may be refused; unsampled Gaussians may not.
		Answers: func(steps []pair.Step) bool {
			for _, s := range steps {
				m, ok := s.Pair.(*pair.Mixture)
				if !ok || m.Noise() != pair.Gaussian {
					return false
				}
				if p, q := m.Components(); len(p) > 1 || len(q) > 1 {
					return false
				}
			}
			return true
		},
		RelWidth: 1e-8,
	})
}
