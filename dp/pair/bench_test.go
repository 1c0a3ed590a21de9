package pair

import (
	"fmt"
	"testing"
)

func BenchmarkLogDelta(b *testing.B) {
	for _, k := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("K=%d", k), func(b *testing.B) {
			m, err := Poisson(Gaussian, 1, 0.01, k/2, k-k/2)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				m.LogDelta(0.7)
			}
		})
	}
}

func BenchmarkLogMoment(b *testing.B) {
	for _, k := range []int{1, 16} {
		for _, alpha := range []float64{2, 32, 1000} {
			b.Run(fmt.Sprintf("K=%d/order=%g", k, alpha), func(b *testing.B) {
				m, err := Poisson(Gaussian, 1, 0.01, k/2, k-k/2)
				if err != nil {
					b.Fatal(err)
				}
				var bound float64
				for b.Loop() {
					var v float64
					v, bound = m.LogMoment(alpha)
					bound /= v
				}
				b.ReportMetric(bound, "relerr")
			})
		}
	}
}
