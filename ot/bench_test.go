package ot_test

import (
	"context"
	"fmt"
	"testing"

	"coupling/ot"
	"coupling/ot/ottest"
)

func BenchmarkSolvers(b *testing.B) {
	for _, n := range []int{256, 1024, 2048, 4096} {
		tm := ottest.LoadTiming(b, n, 2)
		g := ot.Dense(ot.Cost(ot.Points(tm.X, tm.Y, ot.SqEuclidean)))
		for _, ratio := range []float64{.1, .01, .001} {
			eps := ratio * tm.MeanCost
			for _, s := range []struct {
				name string
				s    ot.Solver
			}{
				{"lbfgs", ot.LBFGS{Eps: eps, Tol: 1e-6}},
				{"sinkhorn", ot.Sinkhorn{Eps: eps, Tol: 1e-6}},
			} {
				b.Run(fmt.Sprintf("%s/n=%d/ratio=%g", s.name, n, ratio), func(b *testing.B) {
					var p *ot.Plan
					for b.Loop() {
						var err error
						p, err = s.s.Solve(context.Background(), ot.Problem{Geometry: g, A: tm.A, B: tm.B})
						if err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(p.Evaluations), "evals")
					b.ReportMetric(p.MarginalL1, "L1err")
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(p.Evaluations)/float64(n*n), "ns/cost")
				})
			}
		}
	}
}
