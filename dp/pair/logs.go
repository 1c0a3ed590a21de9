package pair

import "math"

// logAdd returns log(e^a + e^b).
func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) || math.IsInf(a, 1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// logSub returns log(e^a − e^b) for a ≥ b; −Inf when rounding has made a < b.
func logSub(a, b float64) float64 {
	if math.IsInf(b, -1) || math.IsInf(a, 1) {
		return a
	}
	return a + log1mExp(b-a)
}

// log1mExp returns log(1 − e^x) for x ≤ 0.
func log1mExp(x float64) float64 {
	switch {
	case x >= 0:
		return math.Inf(-1)
	case x > -math.Ln2:
		return math.Log(-math.Expm1(x))
	}
	return math.Log1p(-math.Exp(x))
}

// log1pExp returns log(1 + e^x).
func log1pExp(x float64) float64 {
	if x > 36 {
		return x + math.Exp(-x)
	}
	return math.Log1p(math.Exp(x))
}

// logExpm1 returns log(e^x − 1) for x > 0.
func logExpm1(x float64) float64 {
	if x > 36 {
		return x - math.Exp(-x)
	}
	return math.Log(math.Expm1(x))
}

// logSum is a running sum of positive numbers in log space: the zero value must be made by newLogSum.
type logSum struct{ max, sum float64 }

func newLogSum() logSum { return logSum{max: math.Inf(-1)} }

func (s *logSum) add(x float64) {
	switch {
	case math.IsInf(x, -1):
	case x <= s.max:
		s.sum += math.Exp(x - s.max)
	default:
		s.sum = s.sum*math.Exp(s.max-x) + 1
		s.max = x
	}
}

func (s *logSum) log() float64 {
	if s.sum == 0 {
		return math.Inf(-1)
	}
	return s.max + math.Log(s.sum)
}
