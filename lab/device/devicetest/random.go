package devicetest

import (
	"fmt"
	"math"
	"slices"

	"coupling/lab/device"
	"coupling/lab/device/devicetest/internal/ref"
	"coupling/lab/device/philox"
)

func random() []scenario {
	return []scenario{{"Uniform", uniform}, {"Normal", normal}, {"Stream", stream}, {"Distributions", distributions}}
}

// seeds have both halves, and their signs as int32.
var seeds = [...]uint64{0, 1, 0xdeadbeefcafef00d, math.MaxUint64}

// uniform is equal to the definition within the rounding to float32: of u, of hi − lo and of the sum.
func uniform(k *kit) {
	draw := func(s *device.Stream, dst *device.Array, lo, width float64) { s.Uniform(dst, lo, lo+width) }
	k.draws(philoxUniform, [3]float64{0, -1, 0.1}, [3]float64{1, 2, 7.2}, 4, draw,
		func(seed, at uint64, n int) ref.Result {
			return ref.Result{Value: ref.Uniforms(seed, at, n), Scale: repeated(1, n)}
		})
}

// normal likewise. Package philox promises 4 units in the last place of radius·1 = 8 roundings, and
// Affine has two more.
func normal(k *kit) {
	k.draws(philoxNormal, [3]float64{0, -1, 3}, [3]float64{1, 0.1, 2.5}, 10, (*device.Stream).Normal, ref.Normals)
}

// draws compares shift + scale·z as draw draws it with package philox bit for bit, and with the
// definition of z to some roundings of its terms.
func (k *kit) draws(of func([4]uint32) [4]float32, shifts, scales [3]float64, roundings float64,
	draw func(s *device.Stream, dst *device.Array, shift, scale float64),
	definition func(seed, at uint64, n int) ref.Result,
) {
	for _, seed := range seeds {
		s := k.dev.Stream(seed)
		for i, n := range []int{1, 2, 3, 4, 5, 6, 7, 33, 1021, 4099} {
			shift, scale := shifts[i%3], scales[i%3]
			_, at, _ := s.State()
			dst := k.dst(n)
			draw(s, dst, shift, scale)
			what := fmt.Sprintf("%d from seed %x", n, seed)
			k.exact(what, dst, func() []float64 { return drawn(seed, at, n, of, shift, scale) })
			if !k.judge {
				continue
			}
			got, _ := k.take(what, dst)
			want := definition(seed, at, n)
			for i, z := range want.Value {
				if w := shift + scale*z; math.Abs(got[i]-w) >
					roundings*0x1p-24*(math.Abs(shift)+math.Abs(scale)*want.Scale[i]) {
					k.Fatalf("%s: [%d] = %v: must be %v", what, i, got[i], w)
				}
			}
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
		k.exact(fmt.Sprintf("from %d", at), dst, func() []float64 { return drawn(seed, at, 37, philoxUniform, 0, 1) })
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
	k.exact("a part", part, func() []float64 { return all[40:80] })
}

// distributions: the Kolmogorov–Smirnov distance of n numbers exceeds 1.95/√n once in a thousand seeds (the seed is
// fixed), the mean 3.3 and the variance 3.3 of their standard errors likewise.
func distributions(k *kit) {
	const n = 100_000
	s := k.dev.Stream(2024)
	defer s.Free()
	a := k.dst(n)
	check := func(what string, cdf func(float64) float64, mean, variance, kurtosis float64) {
		x, _ := k.take(what, a)
		if !k.judge || len(x) != n {
			return
		}
		slices.Sort(x)
		m, v, far := 0.0, 0.0, 0.0
		for i, z := range x {
			m += z / n
			far = max(far, math.Abs(cdf(z)-float64(i)/n), math.Abs(cdf(z)-float64(i+1)/n))
		}
		for _, z := range x {
			v += (z - mean) * (z - mean) / n
		}
		if far > 1.95/math.Sqrt(n) {
			k.Errorf("%s: the distribution is off by %v", what, far)
		}
		if math.Abs(m-mean) > 3.3*math.Sqrt(variance/n) {
			k.Errorf("%s: mean %v", what, m)
		}
		if math.Abs(v-variance) > 3.3*variance*math.Sqrt((kurtosis-1)/n) {
			k.Errorf("%s: variance %v", what, v)
		}
	}
	s.Uniform(a, 0, 1)
	check("uniform", func(x float64) float64 { return x }, 0.5, 1.0/12, 1.8)
	s.Normal(a, 0, 1)
	check("normal", func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }, 0, 1, 3)
}
