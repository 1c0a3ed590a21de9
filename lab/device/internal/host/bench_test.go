package host

import (
	"fmt"
	"testing"

	"coupling/lab/device/cpu"
)

// BenchmarkGemm compares with one cpu.Gemm on one goroutine: "share" is the fraction of its speed times workers.
func BenchmarkGemm(b *testing.B) {
	for _, s := range []struct {
		batch, m, n, k int
		ta, tb         bool
	}{
		{1, 1024, 1024, 1024, false, false},
		{1, 70, 12544, 100, false, false},
		{1, 100, 12544, 70, true, false},
		{10, 2048, 49, 256, true, false},
		{10, 256, 49, 2048, false, false},
		{1, 256, 2048, 49, false, true},
		{5, 1024, 196, 128, true, false},
		{5, 128, 196, 1024, false, false},
		{1, 128, 1024, 196, false, true},
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
				for b.Loop() {
					must(b, h.Gemm(c, 1, a, s.ta, x, s.tb, 0))
				}
				b.ReportMetric(2e-9*float64(s.batch*s.m*s.n*s.k)*float64(b.N)/b.Elapsed().Seconds(), "GFLOP/s")
			})
		}
	}
}
