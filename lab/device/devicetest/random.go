package devicetest

import (
	"fmt"
	"math"
	"slices"

	"coupling/lab/device/devicetest/internal/ref"
	"coupling/lab/device/philox"
)

func random() []scenario {
	return []scenario{{"Uniform", uniform}, {"Normal", normal}, {"Stream", stream}, {"Distributions", distributions}}
}

// seeds have both halves, and their signs as int32.
var seeds = [...]uint64{0, 1, 0xdeadbeefcafef00d, math.MaxUint64}

// uniform is equal bit for bit to package philox, and to the definition within the rounding to float32: of u, of hi − lo
// and of the sum.
func uniform(k *kit) {
	for _, seed := range seeds {
		s := k.dev.Stream(seed)
		for i, n := range []int{1, 2, 3, 4, 5, 33, 1021, 4099} {
			lo, hi := []float64{0, -1, 0.1}[i%3], []float64{1, 1, 7.3}[i%3]
			_, at, _ := s.State()
			dst := k.dst(n)
			s.Uniform(dst, lo, hi)
			what := fmt.Sprintf("%d from seed %x", n, seed)
			k.exact(what, dst, func() []float64 { return drawn(seed, at, n, philoxUniform, lo, hi-lo) })
			if !k.judge {
				continue
			}
			got, _ := k.take(what, dst)
			for i, u := range ref.Uniforms(seed, at, n) {
				if want := lo + (hi-lo)*u; math.Abs(got[i]-want) > 4*0x1p-24*(math.Abs(lo)+math.Abs(hi)) {
					k.Fatalf("%s: [%d] = %v: must be %v", what, i, got[i], want)
				}
			}
		}
		s.Free()
	}
}

// normal likewise. Package philox promises 4 units in the last place of radius·1 = 8 roundings, and Affine has two more.
func normal(k *kit) {
	for _, seed := range seeds {
		s := k.dev.Stream(seed)
		for i, n := range []int{1, 2, 3, 4, 6, 7, 33, 1021, 4099} {
			mean, sigma := []float64{0, -1, 3}[i%3], []float64{1, 0.1, 2.5}[i%3]
			_, at, _ := s.State()
			dst := k.dst(n)
			s.Normal(dst, mean, sigma)
			what := fmt.Sprintf("%d from seed %x", n, seed)
			k.exact(what, dst, func() []float64 { return drawn(seed, at, n, philoxNormal, mean, sigma) })
			if !k.judge {
				continue
			}
			got, _ := k.take(what, dst)
			want := ref.Normals(seed, at, n)
			for i, z := range want.Value {
				if w := mean + sigma*z; math.Abs(got[i]-w) > 10*0x1p-24*(math.Abs(mean)+sigma*want.Scale[i]) {
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
			k.Errorf("after %d numbers: seed %x, position %d, %v: must be %x, %d", n, gotSeed, got, err, uint64(seed), want)
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
