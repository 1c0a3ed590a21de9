package pld

import (
	"math"

	"coupling/lab/logspace"
)

// largest bounds δ(ε) from below by the power of a test: that some step's loss exceeds c. With p
// and q the probabilities of that under P and Q, of all steps together,
//
//	δ(ε) ≥ p − e^ε q.
//
// Where single steps matter, few or rarely sampled ones, this is nearly all of δ, and it needs no grid.
func largest(parts []*part, q question) (lower float64) {
	end := largestOf(parts, (*part).rightEnd)
	if !(end > 0) {
		return 0
	}
	at := func(logC float64) float64 { return testAt(parts, q, math.Exp(logC)) }
	const tries = 64
	best, where := 0.0, 0.0
	first, stride := logspace.Log(end)-28, 28.0/tries
	for i := range tries + 1 {
		c := first + stride*float64(i)
		if v := at(c); v > best {
			best, where = v, c
		}
	}
	for ; best > 0 && stride > 1e-6; stride /= 2 { // every threshold gives a bound
		for _, c := range [...]float64{where - stride/2, where + stride/2} {
			if v := at(c); v > best {
				best, where = v, c
			}
		}
	}
	return best
}

// testAt returns the bound of δ, or of ε, of one threshold.
func testAt(parts []*part, q question, c float64) float64 {
	missP := 0.0            // log of the probability that no step's loss exceeds c
	hitQ := logspace.Zero() // the sum of the steps' probabilities that it does
	for _, p := range parts {
		f := p.loss.under.right
		lp, lq := f.pair.LogTails(c)
		slack := f.rel + 8*ulp*(2+math.Abs(lp)) // LogTails is accurate to rel
		if math.IsInf(lp, -1) {
			continue
		}
		missP += p.times * math.Log1p(-min(1, math.Exp(lp)*(1-slack)))
		hitQ.Add(logspace.Log(p.times) + lq + f.rel + 8*ulp*(2+math.Abs(max(lq, -1e9))))
	}
	hitP, logQ := -math.Expm1(missP)*(1-1e-13), min(0, hitQ.Log()+1e-13)
	if q.invert {
		delta := math.Exp(q.logDelta) * (1 + q.slack + 4*ulp*(1+math.Abs(q.logDelta)))
		if e := logspace.Log(max(0, hitP-delta)) - logQ - 1e-13; e > 0 && !math.IsInf(e, 1) {
			return e * (1 - 4*ulp)
		}
		return 0
	}
	return max(0, hitP-math.Exp(q.eps+logQ+4*ulp*(1+q.eps))-8*ulp*hitP)
}
