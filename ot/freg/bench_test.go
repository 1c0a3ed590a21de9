package freg_test

import (
	"fmt"
	"testing"

	"coupling/ot"
	"coupling/ot/fdiv"
	"coupling/ot/freg"
)

// The solver at λ from 1 to 1e-3 of the mean cost, to a marginal error of 1e-9.
func BenchmarkSolve(b *testing.B) {
	for _, n := range []int{200, 1000} {
		p, mean := clouds(1, n, n, 2)
		p.Geometry = ot.Dense(ot.Cost(p.Geometry))
		for _, d := range []fdiv.Divergence{fdiv.KL, fdiv.ReverseKL, fdiv.ChiSquare, fdiv.Hellinger,
			fdiv.JensenShannon} {
			for _, rel := range []float64{1, 0.1, 0.01, 0.001} {
				b.Run(fmt.Sprintf("%v/n=%d/rel=%g", d, n, rel), func(b *testing.B) {
					var plan *freg.Plan
					for b.Loop() {
						plan = solve(b, freg.Solver{F: d, Lambda: rel * mean}, p)
					}
					b.ReportMetric(plan.MarginalL1, "L1")
					b.ReportMetric(plan.Gap/mean, "gap/mean")
					b.ReportMetric(float64(plan.Iterations), "steps")
					b.ReportMetric(float64(plan.Evaluations), "evals")
				})
			}
		}
	}
}
