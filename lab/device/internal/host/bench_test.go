package host

import (
	"fmt"
	"testing"
	"time"

	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
	"coupling/lab/must"
)

// BenchmarkGemm reports GFLOP/s, beside those of cpu.Gemm on one core in turn with it: matrices by matrices, and of the
// shapes of a DCGAN generator (batches of patches with shared weights).
func BenchmarkGemm(b *testing.B) {
	for _, s := range []struct {
		batch, m, n, k int
		ta, tb         bool
	}{
		{1, 1024, 1024, 1024, false, false},
		{1, 70, 12544, 100, false, false},
		{10, 2048, 49, 256, true, false},
		{10, 256, 49, 2048, false, false},
		{1, 256, 2048, 49, false, true},
		{5, 1024, 196, 128, true, false},
		{70, 1, 784, 576, false, false},
	} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%dx%dx%dx%d/workers=%d", s.batch, s.m, s.n, s.k, workers), func(b *testing.B) {
				h := open(b, cpu.Auto, workers)
				as, bs := []int{1, s.m, s.k}, []int{s.batch, s.k, s.n}
				if s.ta {
					as = []int{1, s.k, s.m}
				}
				if s.tb {
					bs = []int{s.batch, s.n, s.k}
				}
				a := array(b, h, noise[float32](1, product(as)), as...)
				x := array(b, h, noise[float32](2, product(bs)), bs...)
				c := array(b, h, make([]float32, s.batch*s.m*s.n), s.batch, s.m, s.n)
				am, xm, out := matrices[float32](a, s.ta), matrices[float32](x, s.tb), view[float32](c)
				var g cpu.Gemm[float32]
				var raw, own time.Duration
				for b.Loop() {
					start := time.Now()
					clear(out)
					for i := range s.batch {
						g.Add(cpu.Dense(out[i*s.m*s.n:], s.m, s.n), 1, am.at(i, 0, s.m, 0, s.k),
							xm.at(i, 0, s.k, 0, s.n))
					}
					raw += time.Since(start)
					start = time.Now()
					must.Do(h.Of(c.Type).Gemm(c, 1, a, s.ta, x, s.tb, 0))
					own += time.Since(start)
				}
				flops := 2e-9 * float64(s.batch*s.m*s.n*s.k) * float64(b.N)
				b.ReportMetric(flops/own.Seconds(), "GFLOP/s")
				b.ReportMetric(flops/raw.Seconds(), "cpu.Gemm-GFLOP/s")
			})
		}
	}
}

// BenchmarkMemory reports GB/s that operations on arrays outside the caches move, beside a copy's in turn with them.
func BenchmarkMemory(b *testing.B) {
	const n, c, p = 70, 64, 784
	h := open(b, cpu.Auto, 0)
	size := n * c * p
	four := func(seed uint64) tensor { return array(b, h, noise[float32](seed, size), n, c, p) }
	x, y, g, o := four(1), four(2), four(3), four(4)
	perChannel := array(b, h, noise[float32](5, c), 1, c, 1)
	steps, one := array(b, h, []int32{0}, 1), array(b, h, []float32{1}, 1)
	state := array(b, h, []int32{1, 2, 3, 4}, 4)
	for _, s := range []struct {
		name   string
		arrays int
		do     func() error
	}{
		{"ReLU", 2, func() error { return h.Of(o.Type).Map(o, x, backend.ReLU, 0) }},
		{"ReLUVJP", 3, func() error { return h.Of(o.Type).MapVJP(o, x, y, g, backend.ReLU, 0) }},
		{"Tanh", 2, func() error { return h.Of(o.Type).Map(o, x, backend.Tanh, 0) }},
		{"ELU", 2, func() error { return h.Of(o.Type).Map(o, x, backend.ELU, 1) }},
		{"Add", 3, func() error { return h.Of(o.Type).Combine(o, x, y, backend.Add) }},
		{"Bias", 2, func() error { return h.Of(o.Type).Combine(o, x, perChannel, backend.Add) }},
		{"SumChannels", 1, func() error { return h.Of(perChannel.Type).Reduce(perChannel, x, backend.Sum) }},
		{"DotChannels", 2, func() error { return h.Of(perChannel.Type).ReduceDot(perChannel, x, y) }},
		{"BiasReLU", 2,
			func() error { return h.Of(o.Type).Affine(o, x, backend.Affine{Shift: perChannel, Func: backend.ReLU}) }},
		{"BiasReLUVJP", 4, func() error {
			return h.Of(o.Type).AffineVJP(o, perChannel, tensor{}, x, y, g, backend.Affine{Func: backend.ReLU})
		}},
		{"Moments", 1, func() error { return h.Of(o.Type).Moments(perChannel, perChannel, perChannel, x, 1e-5, 0) }},
		{"MomentsVJP", 3, func() error {
			m := backend.Moments{
				Mean:  perChannel,
				Rstd:  perChannel,
				Scale: perChannel,
				Sum:   perChannel,
				Along: perChannel,
			}
			return h.Of(o.Type).MomentsVJP(o, g, x, m, 0)
		}},
		{"Adam", 7, func() error {
			a := backend.Adam{Rate: 1e-4, Beta1: .5, Beta2: .9, Eps: 1}
			return h.f32.Adam(backend.Update{
				W:      []tensor{o},
				G:      []tensor{g},
				M:      []tensor{x},
				V:      []tensor{y},
				Factor: one,
			}, steps, a)
		}},
		{"Normal", 1, func() error { return h.Of(o.Type).Normal(o, state, 0, 1) }},
	} {
		b.Run(s.name, func(b *testing.B) {
			var own, floor time.Duration
			for b.Loop() {
				start := time.Now()
				must.Do(s.do())
				own += time.Since(start)
				start = time.Now()
				must.Do(h.Convert(o, x))
				floor += time.Since(start)
			}
			bytes := 4e-9 * float64(size) * float64(b.N)
			b.ReportMetric(bytes*float64(s.arrays)/own.Seconds(), "GB/s")
			b.ReportMetric(bytes*2/floor.Seconds(), "copy-GB/s")
		})
	}
}
