package ref

import "math"

// Philox is words 0 to 3 of block position of the stream of a seed: Philox4x32-10 (Salmon et al.
// 2011, section 3.3) with the counter (position, 0) and the key seed, low words first.
func Philox(seed, position uint64) [4]uint32 {
	x := [4]uint32{uint32(position), uint32(position >> 32), 0, 0}
	k := [2]uint32{uint32(seed), uint32(seed >> 32)}
	for range 10 {
		a, b := uint64(x[0])*0xD2511F53, uint64(x[2])*0xCD9E8D57
		x = [4]uint32{uint32(b>>32) ^ x[1] ^ k[0], uint32(b), uint32(a>>32) ^ x[3] ^ k[1], uint32(a)}
		k[0] += 0x9E3779B9
		k[1] += 0xBB67AE85
	}
	return x
}

// Uniforms is n numbers (word>>8 + ½)·2^−24 from a position on, rounded to float32 but not up to 1.
func Uniforms(seed, position uint64, n int) []float64 {
	u := make([]float64, n)
	for i := range u {
		u[i] = uniform(Philox(seed, position+uint64(i/4))[i%4])
	}
	return u
}

func uniform(word uint32) float64 { return float64(min(float32(angle(word)), 1-0x1p-24)) }

func angle(word uint32) float64 { return (float64(word>>8) + 0.5) / (1 << 24) }

// Normals is n numbers by Box and Muller (1958) from words (0, 1) and (2, 3) of each block, and the radius of each.
func Normals(seed, position uint64, n int) Result {
	r := NewResult(n)
	for i := range n {
		w := Philox(seed, position+uint64(i/4))
		pair := i % 4 / 2 * 2
		radius := math.Sqrt(-2 * math.Log(uniform(w[pair])))
		sin, cos := math.Sincos(2 * math.Pi * angle(w[pair+1]))
		r.Value[i], r.Scale[i] = radius*cos, radius
		if i%2 == 1 {
			r.Value[i] = radius * sin
		}
	}
	return r
}
