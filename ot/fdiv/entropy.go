package fdiv

import (
	"math"

	"coupling/lab/logspace"
)

var kl = form{
	name:      "kl",
	bound:     math.Inf(1),
	f:         vLogV,
	slope:     func(v float64) float64 { return logspace.Log(v) + 1 },
	conjugate: func(u float64) float64 { return math.Exp(u - 1) },
	compat:    func(u float64) float64 { return math.Exp(u - 1) },
	curvature: func(u float64) float64 { return math.Exp(u - 1) },
	logCompat: func(u float64) float64 { return u - 1 },
	score:     func(float64) float64 { return 1 },
}

var reverseKL = form{
	name:      "reverse-kl",
	bound:     0,
	f:         func(v float64) float64 { return -logspace.Log(v) },
	slope:     func(v float64) float64 { return -1 / v },
	conjugate: func(u float64) float64 { return -1 - logspace.Log(-u) },
	compat:    func(u float64) float64 { return -1 / u },
	curvature: func(u float64) float64 { return 1 / u / u },
	logCompat: func(u float64) float64 { return -logspace.Log(-u) },
	score:     func(u float64) float64 { return -1 / u },
}

// vLogV returns v log v with its limit 0 at 0. Near v = 1 the logarithm is as exact as v is.
func vLogV(v float64) float64 {
	if v == 0 {
		return 0
	}
	return v * logspace.Log(v)
}
