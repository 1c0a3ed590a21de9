package fdiv

import "math"

var hellinger = form{
	name:  "hellinger",
	bound: 1,
	f: func(v float64) float64 {
		if math.IsInf(v, 1) {
			return v
		}
		r := (v - 1) / (math.Sqrt(v) + 1) // √v − 1 without its cancellation near 1
		return r * r
	},
	slope: func(v float64) float64 {
		r := math.Sqrt(v)
		if r < 0.5 || r > 2 {
			return 1 - 1/r
		}
		return (v - 1) / (v + r)
	},
	conjugate: func(u float64) float64 {
		if math.IsInf(u, -1) {
			return -1
		}
		return u / (1 - u)
	},
	compat:    func(u float64) float64 { return 1 / (1 - u) / (1 - u) },
	curvature: func(u float64) float64 { return 2 / (1 - u) / (1 - u) / (1 - u) },
	logCompat: func(u float64) float64 { return -2 * math.Log1p(-u) },
	score:     func(u float64) float64 { return 2 / (1 - u) },
}
