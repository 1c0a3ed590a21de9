package sweepfile

import (
	"math/bits"
	"math/rand/v2"
)

// Direction numbers of Joe and Kuo, "Constructing Sobol sequences with better
// two-dimensional projections", SIAM J. Sci. Comput. 30 (2008) 2635–2654, the file
// new-joe-kuo-6.21201: for dimensions 2 to 21 the inner coefficients a of a primitive
// polynomial of degree len(m) over GF(2), and the first numbers m.
var joeKuo = []struct {
	a uint32
	m []uint32
}{
	{0, []uint32{1}},
	{1, []uint32{1, 3}},
	{1, []uint32{1, 3, 1}},
	{2, []uint32{1, 1, 1}},
	{1, []uint32{1, 1, 3, 3}},
	{4, []uint32{1, 3, 5, 13}},
	{2, []uint32{1, 1, 5, 5, 17}},
	{4, []uint32{1, 1, 5, 5, 5}},
	{7, []uint32{1, 1, 7, 11, 19}},
	{11, []uint32{1, 1, 5, 1, 1}},
	{13, []uint32{1, 1, 1, 3, 11}},
	{14, []uint32{1, 3, 5, 5, 31}},
	{1, []uint32{1, 3, 3, 9, 7, 49}},
	{13, []uint32{1, 1, 1, 15, 21, 21}},
	{16, []uint32{1, 3, 1, 13, 27, 49}},
	{19, []uint32{1, 1, 1, 15, 7, 5}},
	{22, []uint32{1, 3, 1, 15, 13, 25}},
	{25, []uint32{1, 1, 5, 5, 19, 61}},
	{1, []uint32{1, 3, 7, 11, 23, 15, 103}},
	{4, []uint32{1, 3, 7, 13, 13, 15, 69}},
}

// MaxSobol is the largest dimension of [Sobol].
const MaxSobol = 21

// directions returns v_1 … v_32 of dimension d (from 0): v_k = m_k·2^(32−k), where
// m_k = 2a_1 m_(k−1) ⊕ … ⊕ 2^s m_(k−s) ⊕ m_(k−s).
func directions(d int) (v [32]uint32) {
	if d == 0 {
		for k := range v {
			v[k] = 1 << (31 - k)
		}
		return v
	}
	p := joeKuo[d-1]
	s := len(p.m)
	for k := range v {
		if k < s {
			v[k] = p.m[k] << (31 - k)
			continue
		}
		v[k] = v[k-s] ^ v[k-s]>>s
		for i := 1; i < s; i++ {
			if p.a>>(s-1-i)&1 == 1 {
				v[k] ^= v[k-i]
			}
		}
	}
	return v
}

// Sobol returns the first n points of Sobol's sequence in [0,1)^dim, in the order
// of the Gray code (Antonov and Saleev), the origin first. If shift is not nil,
// every dimension is xored with a random number from it, which keeps the
// sequence's evenness (a digital shift). dim is at most [MaxSobol].
func Sobol(n, dim int, shift *rand.Rand) [][]float64 {
	x, v := make([]uint32, dim), make([][32]uint32, dim)
	for d := range dim {
		v[d] = directions(d)
		if shift != nil {
			x[d] = shift.Uint32()
		}
	}
	out := make([][]float64, n)
	for i := range out {
		out[i] = make([]float64, dim)
		for d := range dim {
			out[i][d] = float64(x[d]) / (1 << 32)
			x[d] ^= v[d][bits.TrailingZeros32(^uint32(i))&31]
		}
	}
	return out
}

// Latin returns a Latin hypercube of n points in [0,1)^dim: along every
// dimension each of n equal intervals holds one point (McKay, Beckman and
// Conover 1979).
func Latin(n, dim int, rnd *rand.Rand) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		out[i] = make([]float64, dim)
	}
	for d := range dim {
		for i, k := range rnd.Perm(n) {
			out[i][d] = min((float64(k)+rnd.Float64())/float64(n), below1)
		}
	}
	return out
}

const below1 = 1 - 1.0/(1<<53)

// Random returns n independent points in [0,1)^dim.
func Random(n, dim int, rnd *rand.Rand) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		out[i] = make([]float64, dim)
		for d := range out[i] {
			out[i][d] = rnd.Float64()
		}
	}
	return out
}
