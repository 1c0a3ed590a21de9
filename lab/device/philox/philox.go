package philox

import "math/bits"

// The multipliers and the Weyl increments of the key (Salmon et al. 2011, section 3.3 and table 2).
const (
	mul0, mul1   = 0xD2511F53, 0xCD9E8D57
	bump0, bump1 = 0x9E3779B9, 0xBB67AE85
	rounds       = 10
)

// Block is Philox4x32-10 of a counter under a key: 128 random bits.
func Block(counter [4]uint32, key [2]uint32) [4]uint32 {
	c0, c1, c2, c3 := counter[0], counter[1], counter[2], counter[3]
	k0, k1 := key[0], key[1]
	for range rounds {
		h0, l0 := bits.Mul32(mul0, c0)
		h1, l1 := bits.Mul32(mul1, c2)
		c0, c1, c2, c3 = h1^c1^k0, l1, h0^c3^k1, l0
		k0, k1 = k0+bump0, k1+bump1
	}
	return [4]uint32{c0, c1, c2, c3}
}

// At is block position of the stream of a seed: the counter is (position low, position high, 0, 0), the key (seed low,
// seed high).
func At(seed, position uint64) [4]uint32 {
	return Block([4]uint32{uint32(position), uint32(position >> 32), 0, 0}, [2]uint32{uint32(seed), uint32(seed >> 32)})
}
