package ot

import "math"

// The row kernels: every solver's time is spent here. softmaxRow is the only place that takes exponentials in a loop.

const (
	expTableBits = 7
	expTableSize = 1 << expTableBits
	// expFloor is where exp is taken for 0: e⁻⁷⁰⁰ is 1e-304, and denormals below it cost ten times more.
	expFloor = -700
)

// expTable holds 2^(k/128).
var expTable = func() (t [expTableSize]float64) {
	for k := range t {
		t[k] = math.Exp2(float64(k) / expTableSize)
	}
	return t
}()

// softmaxRow writes dst[j] = exp((beta[j]−c[j]−mx)/ε), inv = 1/ε, with mx the largest beta[j]−c[j], and returns mx and
// the sum of dst, which lies in [1, m]. Differences are taken before dividing by ε, so that what cancels, cancels
// exactly however large the costs are against ε. beta[j] = −Inf gives 0.
func softmaxRow(dst, beta, c []float64, inv float64) (mx, sum float64) {
	beta, c = beta[:len(dst)], c[:len(dst)]
	mx = math.Inf(-1)
	for j := range dst {
		v := beta[j] - c[j]
		dst[j] = v
		if v > mx {
			mx = v
		}
	}
	return mx, expRow(dst, mx, inv)
}

// expRow replaces t[j] by exp((t[j]−mx)·inv) and returns the sum. Relative error below 4e-16 (Tang's method: a table of
// 2^(k/128) and a polynomial on |r| ≤ ln2/256).
func expRow(t []float64, mx, inv float64) float64 {
	const (
		scale = expTableSize * math.Log2E
		ln2hi = 0x1.62e42fee00000p-1 / expTableSize // 32 bits of ln 2, so that k·ln2hi is exact
		ln2lo = 0x1.a39ef35793c76p-33 / expTableSize
		magic = 0x1.8p52 // adding it rounds to an integer, which then sits in the low bits
	)
	var s0, s1 float64
	for j, v := range t {
		x := (v - mx) * inv
		if x < expFloor {
			t[j] = 0
			continue
		}
		kf := x*scale + magic
		k := int64(math.Float64bits(kf)) << 12 >> 12 // the low 52 bits, signed
		kf -= magic
		r := x - kf*ln2hi - kf*ln2lo
		p := r + r*r*(1./2+r*(1./6+r*(1./24+r*(1./120))))
		f := expTable[k&(expTableSize-1)]
		e := math.Float64frombits(math.Float64bits(f+f*p) + uint64(k>>expTableBits)<<52)
		t[j] = e
		if j&1 == 0 {
			s0 += e
		} else {
			s1 += e
		}
	}
	return s0 + s1
}

// axpy adds w·x to dst.
func axpy(dst, x []float64, w float64) {
	x = x[:len(dst)]
	for j := range dst {
		dst[j] += w * x[j]
	}
}

// dot returns Σ xⱼ yⱼ.
func dot(x, y []float64) float64 {
	y = y[:len(x)]
	var s0, s1, s2, s3 float64
	j := 0
	for ; j+4 <= len(x); j += 4 {
		s0 += x[j] * y[j]
		s1 += x[j+1] * y[j+1]
		s2 += x[j+2] * y[j+2]
		s3 += x[j+3] * y[j+3]
	}
	for ; j < len(x); j++ {
		s0 += x[j] * y[j]
	}
	return (s0 + s1) + (s2 + s3)
}
