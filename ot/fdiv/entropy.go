package fdiv

import (
	"math"
)

var kl = form{
	name:      "kl",
	bound:     math.Inf(1),
	f:         vLogV,
	slope:     func(v float64) float64 { return log(v) + 1 },
	conjugate: func(u float64) float64 { return math.Exp(u - 1) },
	compat:    func(u float64) float64 { return math.Exp(u - 1) },
	curvature: func(u float64) float64 { return math.Exp(u - 1) },
	logCompat: func(u float64) float64 { return u - 1 },
	score:     func(float64) float64 { return 1 },
}

var reverseKL = form{
	name:      "reverse-kl",
	bound:     0,
	f:         func(v float64) float64 { return -log(v) },
	slope:     func(v float64) float64 { return -1 / v },
	conjugate: func(u float64) float64 { return -1 - log(-u) },
	compat:    func(u float64) float64 { return -1 / u },
	curvature: func(u float64) float64 { return 1 / u / u },
	logCompat: func(u float64) float64 { return -log(-u) },
	score:     func(u float64) float64 { return -1 / u },
}

// vLogV returns v log v with its limit 0 at 0. Near v = 1 the logarithm is as exact as v is.
func vLogV(v float64) float64 {
	if v == 0 {
		return 0
	}
	return v * log(v)
}

// log returns log x. The assembly of math.Log on amd64 (Go 1.26) does not normalise subnormal arguments: it returns
// −709.09 for 1e-320, whose logarithm is −736.83.
func log(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p52) - 52*math.Ln2
	}
	return math.Log(x)
}
