package freg

import (
	"math"

	"coupling/lab/device/cpu"
	"coupling/lab/logspace"
	"coupling/ot/fdiv"
	"coupling/ot/internal/rows"
)

// kern is the set of vector kernels in use.
var kern cpu.Kernels[float64]

// A density is a function m of a coordinate x of its own. The seven divergences have five densities: M_f(u) =
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
//
// A new divergence is an entry of families, and a density if it has none of these.
type density struct {
	name      string
	exps      bool                       // values need exp(−d), see row
	inverse   func(v float64) float64    // m⁻¹(v), v > 0
	inverseOf func(w float64) float64    // m⁻¹(1/w), inside the domain for every w > 0, however small
	weighted  func(w, v float64) float64 // w κ(v); where w v ≤ 1 it does not overflow though κ(v) would
	// excess returns f(v) + f*(u) − uv ≥ 0, the suboptimality of the density v where the potentials give
	// v0 = m(x): with v0 > 0 it is the Bregman divergence of f, without the cancellation of the terms.
	excess func(v, v0, x float64) float64
	// root returns the x of row.solve, nil for solveMean; values writes the densities at r.x to r.v.
	root   func(r *row, b []float64, guess float64) float64
	values func(r *row, b []float64)
	// moments returns Σ b v and Σ b κ(v) at x, for solveMean.
	moments func(r *row, b []float64, x float64) (s, ds float64)
}

// A family is the density that some divergences share.
type family = *density

// families holds the density of each divergence and the offset of u.
var families = [...]struct {
	family
	offset float64
}{
	fdiv.KL: {exponential, 1}, fdiv.ReverseKL: {inverse, 0}, fdiv.Pearson: {ramp, -2}, fdiv.ChiSquare: {ramp, 0},
	fdiv.Hellinger: {square, 1}, fdiv.JensenShannon: {logistic, math.Ln2}, fdiv.GAN: {logistic, 0},
}

// familyOf returns the family of a divergence and the offset of u.
func familyOf(d fdiv.Divergence) (f family, offset float64) {
	return families[d].family, families[d].offset
}

// slope returns κ(v) = m′(m⁻¹(v)), the curvature of f* where the density is v.
func (f *density) slope(v float64) float64 { return f.weighted(1, v) }

var exponential = &density{
	name:      "exponential",
	exps:      true,
	inverse:   logspace.Log,
	inverseOf: func(w float64) float64 { return -logspace.Log(w) },
	weighted:  func(w, v float64) float64 { return w * v },
	excess: func(v, v0, x float64) float64 {
		if v0 < tiny || v > far*v0 {
			return v*(xlog(v)-x-1) + v0
		}
		return v0 * entropic(v/v0-1)
	},
	root:   func(r *row, b []float64, _ float64) float64 { return -logspace.Log(kern.Dot(b, r.e)) },
	values: func(r *row, _ []float64) { kern.Scale(r.v, math.Exp(r.x), r.e) },
}

var inverse = &density{
	name:      "inverse",
	inverse:   func(v float64) float64 { return -1 / v },
	inverseOf: func(w float64) float64 { return -w },
	weighted:  func(w, v float64) float64 { return w * v * v },
	excess: func(v, v0, _ float64) float64 {
		q := v / v0
		switch {
		case q < 1/far:
			return q - 1 - (logspace.Log(v) - logspace.Log(v0)) // the quotient may underflow
		case q < 0.5 || q > 2:
			return q - 1 - logspace.Log(q)
		}
		return surplus((v - v0) / v0)
	},
	values: func(r *row, _ []float64) {
		v, x := r.v, r.x
		for j, dj := range r.d {
			v[j] = 1 / (dj - x)
		}
	},
	moments: func(r *row, b []float64, x float64) (s, ds float64) {
		d := r.d[:len(b)]
		for j, w := range b {
			v := 1 / (d[j] - x)
			w *= v
			s += w
			ds += w * v
		}
		return s, ds
	},
}

var ramp = &density{
	name:      "ramp",
	inverse:   func(v float64) float64 { return 2 * v },
	inverseOf: func(w float64) float64 { return 2 / w },
	weighted: func(w, v float64) float64 {
		if v > 0 {
			return w / 2
		}
		return 0
	},
	excess: func(v, v0, x float64) float64 {
		switch {
		case v0 > 0:
			return (v - v0) * (v - v0)
		case x > 0: // by rounding, see values
			return (v - x/2) * (v - x/2)
		}
		return v * (v - x)
	},
	root: (*row).solveRamp,
	values: func(r *row, b []float64) {
		rows.Less(r.e, r.d, r.x)
		kern.Below(r.t, r.e, r.d, r.rampEnd())
		// x and d may be large and the densities small differences of them, so rounding of x
		// matters; a common factor, negative as they are, corrects the sum.
		clear(r.v)
		kern.Axpy(r.v, 1/kern.Dot(b, r.t), r.t)
	},
}

var square = &density{
	name:      "square",
	inverse:   func(v float64) float64 { return -1 / math.Sqrt(v) },
	inverseOf: func(w float64) float64 { return -math.Sqrt(w) },
	weighted:  func(w, v float64) float64 { return 2 * (w * v) * math.Sqrt(v) },
	excess: func(v, v0, _ float64) float64 {
		r := (v - v0) / (math.Sqrt(v) + math.Sqrt(v0)) // √v − √v0
		return r * r / math.Sqrt(v0)
	},
	values: func(r *row, _ []float64) {
		v, x := r.v, r.x
		for j, dj := range r.d {
			s := 1 / (dj - x)
			v[j] = s * s
		}
	},
	moments: func(r *row, b []float64, x float64) (s, ds float64) {
		d := r.d[:len(b)]
		for j, w := range b {
			v := 1 / (d[j] - x)
			w *= v * v
			s += w
			ds += 2 * w * v
		}
		return s, ds
	},
}

var logistic = &density{
	name:      "logistic",
	exps:      true,
	inverse:   func(v float64) float64 { return -math.Log1p(1 / v) },
	inverseOf: func(w float64) float64 { return -math.Log1p(w) },
	weighted:  func(w, v float64) float64 { return w * v * (1 + v) },
	excess:    logisticExcess,
	values: func(r *row, _ []float64) {
		v, x, q := r.v, r.x, math.Exp(r.x)
		for j, dj := range r.d {
			v[j] = logisticAt(q*r.e[j], dj-x)
		}
	},
	moments: func(r *row, b []float64, x float64) (s, ds float64) {
		q := math.Exp(x)
		d, e := r.d[:len(b)], r.e[:len(b)]
		for j, w := range b {
			v := logisticAt(q*e[j], d[j]-x)
			w *= v
			s += w
			ds += w * (1 + v)
		}
		return s, ds
	},
}

// logisticAt returns 1/(e^z − 1), where q = e^−z: near z = 0 from z, elsewhere from q.
func logisticAt(q, z float64) float64 {
	if z < 1./16 {
		return 1 / math.Expm1(z)
	}
	return q / (1 - q)
}

// logisticExcess is v log(v/v0) − (1+v) log((1+v)/(1+v0)). Where v is near v0 the terms of first
// order cancel between the logarithms, and with h = (v−v0)/(v0(1+v)) and k = (v−v0)/(1+v0) it is
// surplus(k) − v surplus(h) + hk; elsewhere it is v log(1+h) − log(1+k).
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
		ratio = logspace.Log((1 + v) / (1 + v0)) // k may be close to −1
	}
	if v < 1 {
		return v*(xlog(v)-logspace.Log(v0)-ratio) - ratio // and h
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
	return logspace.Log(v)
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
