package devicetest

import (
	"fmt"
	"math"

	"coupling/lab/device"
	"coupling/lab/device/philox"
)

func random() []scenario {
	return []scenario{{"Uniform", uniform}, {"Normal", normal}, {"Stream", stream}}
}

// seeds have both halves, and their signs as int32.
var seeds = [...]uint64{0, 1, 0xdeadbeefcafef00d, math.MaxUint64}

// The numbers are those of package philox bit for bit, whose tests hold them to their definition.
func uniform(k *kit) {
	k.draws(philoxUniform, [3]float64{0, -1, 0.1}, [3]float64{1, 2, 7.2},
		func(s *device.Stream, dst *device.Array, lo, width float64) { s.Uniform(dst, lo, lo+width) })
}

func normal(k *kit) {
	k.draws(philoxNormal, [3]float64{0, -1, 3}, [3]float64{1, 0.1, 2.5}, (*device.Stream).Normal)
}

// draws compares shift + scale·z as draw draws it with package philox.
func (k *kit) draws(of func([4]uint32) [4]float32, shifts, scales [3]float64,
	draw func(s *device.Stream, dst *device.Array, shift, scale float64)) {
	for _, seed := range seeds {
		s := k.dev.Stream(seed)
		for i, n := range []int{1, 2, 3, 4, 5, 6, 7, 33, 1021, 4099} {
			shift, scale := shifts[i%3], scales[i%3]
			_, at, _ := s.State()
			dst := k.dst(n)
			draw(s, dst, shift, scale)
			k.exactBy(fmt.Sprintf("%d from seed %x", n, seed), dst,
				func() []float64 { return drawn(seed, at, n, of, shift, scale) })
		}
		s.Free()
	}
}

func philoxUniform(w [4]uint32) [4]float32 {
	return [4]float32{philox.Uniform(w[0]), philox.Uniform(w[1]), philox.Uniform(w[2]), philox.Uniform(w[3])}
}

func philoxNormal(w [4]uint32) (z [4]float32) {
	z[0], z[1] = philox.Normal(w[0], w[1])
	z[2], z[3] = philox.Normal(w[2], w[3])
	return z
}

// drawn is n numbers from a position on, by package philox.
func drawn(seed, at uint64, n int, of func([4]uint32) [4]float32, shift, scale float64) []float64 {
	x := make([]float64, 0, n+3)
	for ; len(x) < n; at++ {
		for _, v := range of(philox.At(seed, at)) {
			x = append(x, float64(philox.Affine(v, float32(shift), float32(scale))))
		}
	}
	return x[:n]
}

// stream moves on by ⌈n/4⌉ blocks, whatever is drawn, and goes where it is sent, over 2^32 blocks too.
func stream(k *kit) {
	const seed = 0x123456789abcdef0
	s := k.dev.Stream(seed)
	defer s.Free()
	want := uint64(0)
	for i, n := range []int{0, 1, 4, 5, 0, 8, 257, 3} {
		dst := k.dst(n)
		if i%2 == 0 {
			s.Normal(dst, 0, 1)
		} else {
			s.Uniform(dst, 0, 1)
		}
		want += uint64(n+3) / 4
		if gotSeed, got, err := s.State(); gotSeed != seed || got != want || err != nil {
			k.Errorf("after %d numbers: seed %x, position %d, %v: must be %x, %d", n, gotSeed, got, err,
				uint64(seed), want)
		}
	}
	for _, at := range []uint64{0, 3, math.MaxUint32, 1 << 40} {
		s.Seek(seed, at)
		dst := k.dst(37)
		s.Uniform(dst, 0, 1)
		k.exactBy(fmt.Sprintf("from %d", at), dst, func() []float64 { return drawn(seed, at, 37, philoxUniform, 0, 1) })
		if _, got, _ := s.State(); got != at+10 {
			k.Errorf("37 numbers from %d end at %d: must be %d", at, got, at+10)
		}
	}
	long, part := k.dst(3, 40), k.dst(40) // numbers do not depend on how many are drawn at once
	s.Seek(seed, 0)
	s.Normal(long, 0, 1)
	s.Seek(seed, 10)
	s.Normal(part, 0, 1)
	all, _ := k.take("long", long)
	k.exact("a part", part, all[40:80])
}
