package host

import (
	"coupling/lab/device/philox"
)

// Uniform draws uniform numbers in (lo, hi).
func (e *engine[T]) Uniform(dst, state tensor, lo, hi float64) error {
	shift, scale := float32(lo), float32(hi-lo)
	e.draw(dst, state, func(w [4]uint32) (out [4]T) {
		for i, v := range w {
			out[i] = T(philox.Affine(philox.Uniform(v), shift, scale))
		}
		return out
	})
	return nil
}

// Normal draws normal numbers.
func (e *engine[T]) Normal(dst, state tensor, mean, sigma float64) error {
	shift, scale := float32(mean), float32(sigma)
	e.draw(dst, state, func(w [4]uint32) (out [4]T) {
		for i := 0; i < 4; i += 2 {
			z0, z1 := philox.Normal(w[i], w[i+1])
			out[i], out[i+1] = T(philox.Affine(z0, shift, scale)), T(philox.Affine(z1, shift, scale))
		}
		return out
	})
	return nil
}

// draw fills dst block by block and moves the state on.
func (e *engine[T]) draw(dst, state tensor, number func(w [4]uint32) [4]T) {
	out, words := view[T](dst), view[int32](state)
	join := func(lo, hi int32) uint64 { return uint64(uint32(lo)) | uint64(uint32(hi))<<32 }
	seed, position := join(words[0], words[1]), join(words[2], words[3])
	blocks := (len(out) + 3) / 4
	e.each(blocks, grain/16, func(_, lo, hi int) {
		for k := lo; k < hi; k++ {
			four := number(philox.At(seed, position+uint64(k)))
			copy(out[4*k:], four[:])
		}
	})
	position += uint64(blocks)
	words[2], words[3] = int32(uint32(position)), int32(uint32(position>>32))
}
