package pair

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"

	"coupling/dp/internal/logspace"
)

// rule holds the nodes and the weights of a Gauss-Legendre rule on [−1, 1].
type rule struct{ x, w []float64 }

var (
	gauss12 = legendre(12)
	gauss16 = legendre(16)
	gauss20 = legendre(20)
)

// legendre is the rule with n nodes.
func legendre(n int) rule {
	r := rule{x: make([]float64, n), w: make([]float64, n)}
	quad.Legendre{}.FixedLocations(r.x, r.w, -1, 1)
	return r
}

// logIntegral returns the log of the integral over [a, b] of exp(f).
func (r rule) logIntegral(f func(float64) float64, a, b float64) float64 {
	s := logspace.Zero()
	mid, half := a+(b-a)/2, (b-a)/2
	for i, x := range r.x {
		s.Add(math.Log(r.w[i]) + f(mid+half*x))
	}
	return s.Log() + math.Log(half)
}
