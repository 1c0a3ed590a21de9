package fdiv

import (
	"math"

	"coupling/lab/logspace"
)

var pearson = form{
	name:  "pearson",
	bound: math.Inf(1),
	f:     func(v float64) float64 { return (v - 1) * (v - 1) },
	slope: func(v float64) float64 { return 2 * (v - 1) },
	conjugate: func(u float64) float64 {
		if u < -2 {
			return -1
		}
		return u * (u/4 + 1)
	},
	compat:    func(u float64) float64 { return max(u/2+1, 0) },
	curvature: func(u float64) float64 { return halfFrom(-2, u) },
	logCompat: func(u float64) float64 { return logspace.Log(max(u/2+1, 0)) },
	score:     func(u float64) float64 { return inverseAbove(u + 2) },
}

var chiSquare = form{
	name:  "chi2",
	bound: math.Inf(1),
	f:     func(v float64) float64 { return (v - 1) * (v + 1) },
	slope: func(v float64) float64 { return 2 * v },
	conjugate: func(u float64) float64 {
		u = max(u, 0) / 2
		return u*u + 1
	},
	compat:    func(u float64) float64 { return max(u, 0) / 2 },
	curvature: func(u float64) float64 { return halfFrom(0, u) },
	logCompat: func(u float64) float64 { return logspace.Log(max(u, 0) / 2) },
	score:     inverseAbove,
}

// halfFrom returns ½ from the kink on and 0 before it.
func halfFrom(kink, u float64) float64 {
	if u < kink {
		return 0
	}
	return 0.5
}

// inverseAbove returns 1/x for x > 0 and NaN elsewhere.
func inverseAbove(x float64) float64 {
	if x <= 0 {
		return math.NaN()
	}
	return 1 / x
}
