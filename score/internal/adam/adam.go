// Package adam is an optimiser of parameters that are a slice.
package adam

import "math"

// Adam is Kingma and Ba's optimiser, ascending, for parameters that are a slice.
type Adam struct {
	Rate float64
	m, v []float64
	t    int
}

// Step moves w up the gradient g, the rate multiplied by factor.
func (a *Adam) Step(w, g []float64, factor float64) {
	if a.m == nil {
		a.m, a.v = make([]float64, len(w)), make([]float64, len(w))
	}
	a.t++
	b1, b2 := 1-math.Pow(.9, float64(a.t)), 1-math.Pow(.999, float64(a.t))
	for i, v := range g {
		a.m[i] = .9*a.m[i] + .1*v
		a.v[i] = .999*a.v[i] + .001*v*v
		w[i] += factor * a.Rate * (a.m[i] / b1) / (math.Sqrt(a.v[i]/b2) + 1e-12)
	}
}
