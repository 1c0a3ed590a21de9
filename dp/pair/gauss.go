package pair

import (
	"math"

	"coupling/dp/internal/logspace"
)

// rule holds the positive nodes and the weights of a symmetric Gauss-Legendre rule with an even number of nodes on [−1, 1].
type rule struct{ x, w []float64 }

var (
	gauss12 = legendre(12)
	gauss16 = legendre(16)
	gauss20 = legendre(20)
)

// legendre computes the rule with n nodes, n even, by Newton's method on the Legendre polynomial.
func legendre(n int) rule {
	r := rule{x: make([]float64, n/2), w: make([]float64, n/2)}
	for i := range n / 2 {
		x := math.Cos(math.Pi * (float64(i) + 0.75) / (float64(n) + 0.5))
		var dp float64
		for range 8 {
			p0, p1 := 1.0, x
			for k := 2; k <= n; k++ {
				p0, p1 = p1, (float64(2*k-1)*x*p1-float64(k-1)*p0)/float64(k)
			}
			dp = float64(n) * (x*p1 - p0) / (x*x - 1)
			x -= p1 / dp
		}
		r.x[i], r.w[i] = x, 2/((1-x*x)*dp*dp)
	}
	return r
}

// logIntegral returns the log of the integral over [a, b] of exp(f).
func (r rule) logIntegral(f func(float64) float64, a, b float64) float64 {
	s := logspace.Zero()
	mid, half := a+(b-a)/2, (b-a)/2
	for i, x := range r.x {
		lw := math.Log(r.w[i])
		s.Add(lw + f(mid-half*x))
		s.Add(lw + f(mid+half*x))
	}
	return s.Log() + math.Log(half)
}
