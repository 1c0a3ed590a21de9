package pld

import (
	"math"

	"coupling/lab/logspace"
)

// largest bounds δ(ε) from below by the power of a test: that some step's loss exceeds c. With p and q the probabilities of that under
// P and Q, of all steps together,
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
	missP, missQ := 0.0, 0.0 // logs of the probabilities that no step's loss exceeds c
	for _, p := range parts {
		f := p.loss.right
		lp, lq := f.pair.LogTails(c)
		slack := f.rel + 8*ulp*(2+math.Abs(lp)) // LogTails is accurate to rel
		if math.IsInf(lp, -1) {
			continue
		}
		missP += p.times * math.Log1p(-min(1, math.Exp(lp)*(1-slack)))
		missQ += p.times * math.Log1p(-min(1, math.Exp(lq)*(1+f.rel+8*ulp*(2+math.Abs(lq)))+least))
	}
	hitP, hitQ := -math.Expm1(missP)*(1-1e-13), -math.Expm1(missQ)*(1+1e-13)
	if q.invert {
		if delta := math.Exp(q.logDelta) * (1 + q.slack + 4*ulp*(1+math.Abs(q.logDelta))); hitP > delta && hitQ > 0 {
			if e := logspace.Log((hitP-delta)/hitQ) - 1e-13; e > 0 {
				return e * (1 - 4*ulp)
			}
		}
		return 0
	}
	return max(0, hitP-math.Exp(q.eps)*(1+4*ulp*(1+q.eps))*hitQ-8*ulp*hitP)
}
