package pair

import (
	"cmp"
	"math"
	"slices"

	"coupling/lab/logspace"

	"gonum.org/v1/gonum/integrate/quad"
)

// positive is a positive integrand exp(log(x)) that can be bounded on an interval.
type positive struct {
	log   func(x float64) float64
	bound func(a, b float64) float64 // an upper bound of log on [a, b]
	noise func(x float64) float64    // the rounding error of log at x, nil for none worth counting
	width float64                    // intervals wider than this are split without trying
	slack float64                    // cells whose integral is this much (in logs) below their bound may hide a peak
	peak  float64                    // no peak is narrower than this
	most  int                        // cells that may be evaluated; 0 means maxCells
}

// cell is an interval waiting to be integrated, with an upper bound of the log of its integral.
type cell struct{ a, b, bound float64 }

const (
	quadratureTol = 2e-14  // wanted relative error of a cell, against the total
	maxCells      = 20_000 // beyond it integrate stops, and the caller must use a bound
	leastCells    = 64
	maxNoises     = 4_000_000 // evaluations of noise densities, of which a cell takes some 32 for each component
)

// integrate returns the log of the integral of f over the union of the intervals between
// consecutive breaks and a bound on its relative error. Cells with the largest bounds come first,
// so that most of the range is never evaluated; the bounds of the remaining cells count as error. A
// cell is accepted when Gauss rules with 12 and 20 nodes agree. It is false when there were too
// many cells.
func (f positive) integrate(breaks []float64) (logI, relErr float64, ok bool) {
	var queue []cell // by bound
	push := func(a, b float64) {
		if b > a {
			c := cell{a, b, f.bound(a, b) + logspace.Log(b-a)}
			at, _ := slices.BinarySearchFunc(queue, c, func(x, y cell) int { return cmp.Compare(x.bound, y.bound) })
			queue = slices.Insert(queue, at, c)
		}
	}
	for i := range len(breaks) - 1 {
		push(breaks[i], breaks[i+1])
	}
	total, errs := logspace.Zero(), logspace.Zero()
	for range cmp.Or(f.most, maxCells) {
		if len(queue) == 0 {
			break
		}
		c := queue[len(queue)-1]
		// The remaining cells together are below the tolerance.
		if c.bound+logspace.Log(float64(len(queue))) < total.Log()+logspace.Log(quadratureTol/4) {
			break
		}
		queue = queue[:len(queue)-1]
		mid := c.a + (c.b-c.a)/2
		if c.b-c.a <= f.width || mid <= c.a || mid >= c.b {
			fine := gauss20.logIntegral(f.log, c.a, c.b)
			rounding := 1e-15
			if f.noise != nil {
				rounding += f.noise(mid)
			}
			diff := math.Abs(math.Expm1(gauss12.logIntegral(f.log, c.a, c.b)-fine)) + rounding
			small := fine + logspace.Log(diff)
			done := diff < quadratureTol+2*rounding || small < total.Log()+logspace.Log(quadratureTol)-3
			hidden := c.bound-fine > f.slack && c.b-c.a > f.peak
			if mid <= c.a || mid >= c.b || !hidden && (done || math.IsInf(fine, -1)) {
				total.Add(fine)
				errs.Add(small)
				continue
			}
		}
		push(c.a, mid)
		push(mid, c.b)
	}
	for _, c := range queue {
		errs.Add(c.bound)
	}
	logI = total.Log()
	relErr = math.Exp(errs.Log() - logI)
	if math.IsInf(logI, -1) {
		relErr = 0
		ok = math.IsInf(errs.Log(), -1)
		return logI, relErr, ok
	}
	return logI, relErr, relErr < 1e-6
}

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
		s.Add(logspace.Log(r.w[i]) + f(mid+half*x))
	}
	return s.Log() + logspace.Log(half)
}
