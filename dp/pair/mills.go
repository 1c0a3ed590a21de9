package pair

import (
	"math"

	"coupling/lab/logspace"
)

const (
	logSqrt2Pi = 0.91893853320467274178032973640562
	sqrtHalfPi = 1.2533141373155002512078826424055
)

// logNormalTail returns log Φ̄(t), the log of the upper tail of the standard normal distribution.
func logNormalTail(t float64) float64 {
	switch {
	case t < -1:
		return math.Log1p(-math.Erfc(-t/math.Sqrt2) / 2)
	case t < 1:
		return logspace.Log(math.Erfc(t/math.Sqrt2) / 2)
	}
	return -t*t/2 - logSqrt2Pi + logspace.Log(mills(t))
}

// mills returns the Mills ratio R(t) = Φ̄(t)/φ(t) for t > −30 or so; it overflows below −38.
func mills(t float64) float64 {
	if t > 25 {
		return (1 - millsGap(t)) / t
	}
	// exp(t²/2)·erfc(t/√2) with the rounding error of t² put back.
	hi := t * t
	lo := math.FMA(t, t, -hi)
	return sqrtHalfPi * math.Exp(hi/2) * (1 + lo/2) * erfcRoot2(t)
}

// erfcRoot2 returns erfc(t/√2), corrected to first order for the rounding of t/√2.
func erfcRoot2(t float64) float64 {
	const lo = -4.833646656726458e-17 // 1/√2 minus its float64
	x := t * (1 / math.Sqrt2)
	err := math.FMA(t, 1/math.Sqrt2, -x) + t*lo
	return math.Erfc(x) - 2/math.SqrtPi*math.Exp(-x*x)*err
}

// millsGap returns 1 − t·R(t) = −R′(t), which is positive and about 1/t² for large t.
func millsGap(t float64) float64 {
	if t < 12 {
		return 1 - t*mills(t)
	}
	// Asymptotic series 1/t² − 3/t⁴ + 15/t⁶ …; its smallest term is below 1e-30 for t ≥ 12.
	w := 1 / (t * t)
	term, sum := w, w
	for k := 3.0; k < 60; k += 2 {
		term *= -k * w
		sum += term
		if math.Abs(term) < 1e-17*sum {
			break
		}
	}
	return sum
}

// logMillsDiff returns log(R(t−d) − R(t)) for d ≥ 0 by quadrature of −R′ where the difference would cancel, and false
// where it would not (or where R overflows) and the caller can subtract tails.
func logMillsDiff(t, d float64) (float64, bool) {
	smooth := d*max(1, math.Abs(t)) <= 0.5 || (t > 0 && d < t/4)
	if t-d < -30 || !smooth {
		return 0, false
	}
	sum := 0.0
	for i, x := range gauss16.x {
		sum += gauss16.w[i] * millsGap(t-d*(1-x)/2)
	}
	return logspace.Log(d / 2 * sum), true
}
