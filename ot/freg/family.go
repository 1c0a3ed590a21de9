package freg

import (
	"math"

	"coupling/lab/device/cpu"
	"coupling/ot/fdiv"
)

// kern is the set of vector kernels in use.
var kern cpu.Kernels[float64]

// family is a density m as a function of its own coordinate x. The seven divergences have five densities: M_f(u) =
// m(u − offset), where the offset is chosen such that the domain, where it is bounded, is x < 0:
//
//	            m(x)              m⁻¹(v)          κ(v) = m′(m⁻¹(v))    divergences (offset)
//	logistic    1/(e^−x − 1)      −log(1 + 1/v)   v(1+v)               JensenShannon (log 2), GAN (0)
//	exponential e^x               log v           v                    KL (1)
//	inverse     −1/x              −1/v            v²                   ReverseKL (0)
//	square      x^−2              −1/√v           2v^(3/2)             Hellinger (1)
//	ramp        x₊/2              2v              ½                    ChiSquare (0), Pearson (−2)
//
// Everything that the dual needs is a function of v: the inverse and the slope κ.
// Where x < 0 is small, the density is large; no method forms 1 − e^x or the like by subtraction there.
type family int

const (
	exponential family = iota
	inverse
	ramp
	square
	logistic
)

// familyOf returns the family of a divergence and the offset of u.
func familyOf(d fdiv.Divergence) (f family, offset float64) {
	switch d {
	case fdiv.KL:
		return exponential, 1
	case fdiv.ReverseKL:
		return inverse, 0
	case fdiv.Pearson:
		return ramp, -2
	case fdiv.ChiSquare:
		return ramp, 0
	case fdiv.Hellinger:
		return square, 1
	case fdiv.JensenShannon:
		return logistic, math.Ln2
	default:
		return logistic, 0
	}
}

// inverse returns m⁻¹(v), v > 0.
func (f family) inverse(v float64) float64 {
	switch f {
	case exponential:
		return math.Log(v)
	case inverse:
		return -1 / v
	case ramp:
		return 2 * v
	case square:
		return -1 / math.Sqrt(v)
	default:
		return -math.Log1p(1 / v)
	}
}

// inverseOf returns m⁻¹(1/w), inside the domain for every w > 0, however small.
func (f family) inverseOf(w float64) float64 {
	switch f {
	case exponential:
		return -math.Log(w)
	case inverse:
		return -w
	case ramp:
		return 2 / w
	case square:
		return -math.Sqrt(w)
	default:
		return -math.Log1p(w)
	}
}

// slope returns κ(v) = m′(m⁻¹(v)), the curvature of f* where the density is v.
func (f family) slope(v float64) float64 { return f.weighted(1, v) }

// weighted returns w κ(v); where w v ≤ 1 it does not overflow though κ(v) would.
func (f family) weighted(w, v float64) float64 {
	switch f {
	case exponential:
		return w * v
	case inverse:
		return w * v * v
	case ramp:
		if v > 0 {
			return w / 2
		}
		return 0
	case square:
		return 2 * (w * v) * math.Sqrt(v)
	default:
		return w * v * (1 + v)
	}
}

// excess returns f(v) + f*(u) − uv ≥ 0, the suboptimality of the density v where the potentials
// give v0 = m(x): with v0 > 0 it is the Bregman divergence of f, written without the cancellation
// of the three terms.
func (f family) excess(v, v0, x float64) float64 {
	switch f {
	case exponential:
		if v0 < tiny || v > far*v0 {
			return v*(xlog(v)-x-1) + v0
		}
		return v0 * entropic(v/v0-1)
	case inverse:
		q := v / v0
		switch {
		case q < 1/far:
			return q - 1 - (math.Log(v) - math.Log(v0)) // the quotient may underflow
		case q < 0.5 || q > 2:
			return q - 1 - math.Log(q)
		}
		return surplus((v - v0) / v0)
	case ramp:
		switch {
		case v0 > 0:
			return (v - v0) * (v - v0)
		case x > 0: // by rounding, see row.densities
			return (v - x/2) * (v - x/2)
		}
		return v * (v - x)
	case square:
		r := (v - v0) / (math.Sqrt(v) + math.Sqrt(v0)) // √v − √v0
		return r * r / math.Sqrt(v0)
	default:
		return logisticExcess(v, v0, x)
	}
}

// logisticExcess is v log(v/v0) − (1+v) log((1+v)/(1+v0)). Where v is near v0 the terms of first order cancel between the
// logarithms, and with h = (v−v0)/(v0(1+v)) and k = (v−v0)/(1+v0) it is surplus(k) − v surplus(h) + hk; elsewhere
// it is v log(1+h) − log(1+k).
func logisticExcess(v, v0, x float64) float64 {
	const near = 8
	if v0 < tiny {
		return v*(xlog(v)-x) - (1+v)*math.Log1p(v) + v0
	}
	h, k := (v-v0)/(v0*(1+v)), (v-v0)/(1+v0)
	if v0/near <= v && v <= near*v0 {
		return max(0, surplus(k)-v*surplus(h)+h*k)
	}
	ratio := math.Log1p(k)
	if v0 > 1 {
		ratio = math.Log((1 + v) / (1 + v0)) // k may be close to −1
	}
	if v < 1 {
		return v*(xlog(v)-math.Log(v0)-ratio) - ratio // and h
	}
	return v*math.Log1p(h) - ratio
}

// surplus returns z − log(1+z) ≥ 0 for z > −1.
func surplus(z float64) float64 { return (1 + z) * entropic(-z/(1+z)) }

// far is the ratio of two densities above which the terms of their Bregman divergence do not
// cancel.
const far = 1e3

// tiny is a density below which v/v0 may overflow.
const tiny = 1e-290

// xlog returns log v for v > 0, and 0 for v = 0; callers multiply it by v.
func xlog(v float64) float64 {
	if v == 0 {
		return 0
	}
	return math.Log(v)
}

// entropic returns (1+d) log(1+d) − d ≥ 0 for d ≥ −1, by its series d²/2 − d³/6 + d⁴/12 … near 0.
func entropic(d float64) float64 {
	if math.Abs(d) > 1e-2 {
		if d == -1 {
			return 1
		}
		return (1+d)*math.Log1p(d) - d
	}
	var sum float64
	for k := 9.; k >= 2; k-- { // the first term left out is a share of 1e-16/45
		sum = 1/(k*(k-1)) - d*sum
	}
	return d * d * sum
}
