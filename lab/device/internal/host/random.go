package host

import "coupling/lab/device/philox"

// Uniform draws uniform numbers in (lo, hi).
func (e *engine[T]) Uniform(dst, state tensor, lo, hi float64) {
	shift, scale := float32(lo), float32(hi-lo)
	e.draw(dst, state, func(out []T, w [4]uint32) {
		for i := range out {
			out[i] = T(philox.Affine(philox.Uniform(w[i&3]), shift, scale))
		}
	})
}

// Normal draws normal numbers.
func (e *engine[T]) Normal(dst, state tensor, mean, sigma float64) {
	shift, scale := float32(mean), float32(sigma)
	e.draw(dst, state, func(out []T, w [4]uint32) {
		var z [4]float32
		z[0], z[1] = philox.Normal(w[0], w[1])
		z[2], z[3] = philox.Normal(w[2], w[3])
		for i := range out {
			out[i] = T(philox.Affine(z[i&3], shift, scale))
		}
	})
}

// draw fills dst block by block, up to four numbers each, and moves the state on.
func (e *engine[T]) draw(dst, state tensor, numbers func(out []T, w [4]uint32)) {
	x, words := view[T](dst), view[int32](state)
	join := func(lo, hi int32) uint64 { return uint64(uint32(lo)) | uint64(uint32(hi))<<32 }
	blocks := (len(x) + 3) / 4
	var seed, position uint64
	e.once(func() {
		seed, position = join(words[0], words[1]), join(words[2], words[3])
		next := position + uint64(blocks)
		words[2], words[3] = int32(uint32(next)), int32(uint32(next>>32))
	})
	e.each(blocks, grain/16, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			numbers(x[4*k:min(4*k+4, len(x))], philox.At(seed, position+uint64(k)))
		}
	})
}
