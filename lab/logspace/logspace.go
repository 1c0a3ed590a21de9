// Package logspace computes with logarithms of positive numbers. −Inf stands for 0.
package logspace

import "math"

// Ulp is the unit round-off of float64.
const Ulp = 1.0 / (1 << 53)

// Log returns log x, also for x below 2^−1022, where math.Log is wrong on amd64: by 35 at the
// smallest float64. It is −Inf at 0 and NaN below.
func Log(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// Add returns log(e^a + e^b).
func Add(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) || math.IsInf(a, 1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// Sub returns log(e^a − e^b) for a ≥ b; −Inf when rounding has made a < b.
func Sub(a, b float64) float64 {
	if math.IsInf(b, -1) || math.IsInf(a, 1) {
		return a
	}
	return a + OneMinusExp(b-a)
}

// OneMinusExp returns log(1 − e^x) for x ≤ 0.
func OneMinusExp(x float64) float64 {
	switch {
	case x >= 0:
		return math.Inf(-1)
	case x > -math.Ln2:
		return Log(-math.Expm1(x))
	}
	return math.Log1p(-math.Exp(x))
}

// OnePlusExp returns log(1 + e^x).
func OnePlusExp(x float64) float64 {
	if x > 36 {
		return x + math.Exp(-x)
	}
	return math.Log1p(math.Exp(x))
}

// Expm1 returns log(e^x − 1) for x > 0.
func Expm1(x float64) float64 {
	if x > 36 {
		return x - math.Exp(-x)
	}
	return Log(math.Expm1(x))
}

// Sum is a running sum. It begins with Zero.
type Sum struct{ max, sum float64 }

// Zero is an empty sum.
func Zero() Sum { return Sum{max: math.Inf(-1)} }

// Add adds e^x.
func (s *Sum) Add(x float64) {
	switch {
	case math.IsInf(x, -1):
	case x <= s.max:
		s.sum += math.Exp(x - s.max)
	default:
		s.sum = s.sum*math.Exp(s.max-x) + 1
		s.max = x
	}
}

// Log returns the log of the sum.
func (s *Sum) Log() float64 {
	if s.sum == 0 {
		return math.Inf(-1)
	}
	return s.max + Log(s.sum)
}
