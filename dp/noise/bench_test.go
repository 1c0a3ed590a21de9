package noise

import (
	"fmt"
	"math"
	"testing"

	"coupling/lab/must"
)

// perSample reports the time of one value and the deviation of the mean square, in standard errors.
func perSample(b *testing.B, variance, kurtosis float64, add func([]float64) ([]float64, error)) {
	values := make([]float64, 1000)
	sum, n := 0.0, 0
	for b.Loop() {
		out := must.Get(add(values))
		for _, v := range out {
			sum += v * v
		}
		n += len(out)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/sample")
	b.ReportMetric((sum/float64(n)/variance-1)/math.Sqrt((kurtosis-1)/float64(n)), "z")
}

func BenchmarkAdd(b *testing.B) {
	for name, src := range map[string]Source{"seeded": seed(1), "crypto": Crypto()} {
		for _, step := range []float64{0, 0.125} {
			b.Run(fmt.Sprintf("gaussian/%s/step=%v", name, step), func(b *testing.B) {
				perSample(b, 1, 3,
					func(v []float64) ([]float64, error) { return Gaussian{Sigma: 1, Granularity: step}.Add(src, v) })
			})
			b.Run(fmt.Sprintf("laplace/%s/step=%v", name, step), func(b *testing.B) {
				perSample(b, 2, 6,
					func(v []float64) ([]float64, error) { return Laplace{Scale: 1, Granularity: step}.Add(src, v) })
			})
		}
	}
}
