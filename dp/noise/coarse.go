package noise

import (
	"math"

	"coupling/dp"
	"coupling/dp/pair"
)

// maxPoints bounds the size of an exact pair.
const maxPoints = 1 << 20

// coarseGaussian is the event of one value on a coarse grid: the pair of the discrete Gaussian law and the same law
// moved by shift steps. Smaller shifts are dominated, because the law is log-concave: the set that attains δ is a half-line
// {k ≤ τ}, and P(k ≤ τ) − e^ε P(k ≤ τ − v) grows with v. Mass beyond 40 s counts as certain disclosure.
func coarseGaussian(s, shift float64) (dp.Event, error) {
	reach := math.Ceil(40 * s)
	n := 2*reach + shift + 1
	if n > maxPoints {
		return nil, noPair("Sensitivity of %v steps is too large for a scale of %v steps", shift, s)
	}
	law := func(k float64) float64 { return math.Exp(-k * k / (2 * s * s)) }
	total := 1.0
	for k := reach; k > 0; k-- { // small terms first
		total += 2 * law(k)
	}
	p, q := make([]float64, int(n)+2), make([]float64, int(n)+2)
	for i := range int(n) {
		k := float64(i) - reach
		p[i], q[i] = law(k)/total, law(k-shift)/total
	}
	// Beyond 40 s lies less than e^(−800)·(1 + s), below the smallest float64, which stands for it.
	p[len(p)-2], q[len(q)-1] = math.SmallestNonzeroFloat64, math.SmallestNonzeroFloat64
	return dominated(p, q)
}

// coarseLaplace is the same for the discrete Laplace law. All k ≤ 0 have one loss, and so have all k ≥ shift.
func coarseLaplace(b, shift float64) (dp.Event, error) {
	if shift > maxPoints {
		return nil, noPair("Sensitivity of %v steps is too large for a scale of %v steps", shift, b)
	}
	n := int(shift)
	rho := math.Exp(-1 / b)
	p, q := make([]float64, n+1), make([]float64, n+1)
	for k := range n + 1 {
		w := -math.Expm1(-1/b) / (1 + rho)
		if k == 0 || k == n {
			w = 1 / (1 + rho)
		}
		p[k], q[k] = w*math.Exp(-float64(k)/b), w*math.Exp(float64(k-n)/b)
	}
	return dominated(p, q)
}

func dominated(p, q []float64) (dp.Event, error) {
	d, err := pair.NewDiscrete(p, q)
	if err != nil {
		return nil, err
	}
	return dp.FromPair{Removal: d}, nil
}
