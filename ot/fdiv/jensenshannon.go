package fdiv

import (
	"math"

	"coupling/lab/logspace"
)

var jensenShannon = form{
	name:  "js",
	bound: math.Ln2,
	f:     jsF,
	// log(2v/(1+v))
	slope: func(v float64) float64 {
		if v > 0.5 {
			if math.IsInf(v, 1) {
				return math.Ln2
			}
			return math.Log1p((v - 1) / (v + 1))
		}
		return math.Ln2 + logspace.Log(v) - math.Log1p(v)
	},
	conjugate: func(u float64) float64 { return -math.Log1p(-math.Expm1(u)) },
	compat:    func(u float64) float64 { return math.Exp(u) / jsGap(u) },
	curvature: func(u float64) float64 { return math.Exp(u) / jsGap(u) * (2 / jsGap(u)) },
	logCompat: func(u float64) float64 { return u - math.Log1p(-math.Expm1(u)) },
	score:     func(u float64) float64 { return 2 / jsGap(u) },
}

// jsGap returns 2 − e^u, exact to the last bits for u near 0 and near log 2 alike.
func jsGap(u float64) float64 { return 1 - math.Expm1(u) }

// jsF returns v log v − (v+1) log((v+1)/2). With x = (v−1)/(v+1) it is ½(1+v) [(1+x)
// log(1+x) + (1−x) log(1−x)], whose bracket is Σ x^2k / (k(2k−1)): near v = 1 the
// logarithms cancel and the series does not.
func jsF(v float64) float64 {
	if math.IsInf(v, 1) {
		return v
	}
	x := (v - 1) / (v + 1)
	if x > 0.125 {
		return v*(math.Ln2-math.Log1p(1/v)) + math.Ln2 - math.Log1p(v)
	}
	if x < -0.125 {
		return vLogV(v) - (v+1)*(math.Log1p(v)-math.Ln2)
	}
	sum, x2 := 0., x*x
	for k := 9.; k >= 1; k-- { // the first term left out is a share of 0.125^18/190 = 3e-19
		sum = x2 * (1/(k*(2*k-1)) + sum)
	}
	return (1 + v) / 2 * sum
}

var gan = form{
	name:  "gan",
	bound: 0,
	f: func(v float64) float64 {
		if v < 1 {
			return vLogV(v) - (v+1)*math.Log1p(v)
		}
		if math.IsInf(v, 1) {
			return math.Inf(-1)
		}
		return -v*math.Log1p(1/v) - math.Log1p(v)
	},
	// log(v/(1+v))
	slope: func(v float64) float64 {
		if v < 1 {
			return logspace.Log(v) - math.Log1p(v)
		}
		return -math.Log1p(1 / v)
	},
	conjugate: func(u float64) float64 { return -log1mexp(u) },
	compat:    func(u float64) float64 { return math.Exp(u) / -math.Expm1(u) },
	curvature: func(u float64) float64 { return math.Exp(u) / math.Expm1(u) / math.Expm1(u) },
	logCompat: func(u float64) float64 { return u - log1mexp(u) },
	score:     func(u float64) float64 { return -1 / math.Expm1(u) },
}

// log1mexp returns log(1 − e^u) for u < 0 (Mächler 2012, "Accurately computing log(1 − exp(−|a|))").
func log1mexp(u float64) float64 {
	if u > -math.Ln2 {
		return logspace.Log(-math.Expm1(u))
	}
	return math.Log1p(-math.Exp(u))
}
