package score

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/must"
)

// A step of a thousand chains: field, noise and update.
func BenchmarkLangevin(b *testing.B) {
	for _, d := range []int{2, 64, 256} {
		rng := seeded(1)
		g := must.Get(NewGaussian(nil, covariance(rng, d, 1)))
		e := must.Get(NewEmpirical(normals(rng, 1000, d), nil, .5))
		for name, f := range map[string]Field{"gaussian": g, "empirical": e} {
			b.Run(fmt.Sprintf("%s/d=%d", name, d), func(b *testing.B) {
				c := Start(rng, mat.NewDense(1000, d, nil))
				l := Langevin{Step: .01}
				for b.Loop() {
					l.Steps++
					must.Do(l.Run(b.Context(), f, c))
				}
				b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "chain-steps/s")
			})
		}
	}
}
