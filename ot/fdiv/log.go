package fdiv

import "math"

// log returns log x. The assembly of math.Log on amd64 (Go 1.26) does not normalise subnormal arguments: it returns
// −709.09 for 1e-320, whose logarithm is −736.83.
func log(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p52) - 52*math.Ln2
	}
	return math.Log(x)
}
