package ot_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/ottest"
)

// float32Problem is one of points in the plane, d apart, with uneven weights.
func float32Problem(rng *rand.Rand, n, m int, apart float64) (x, y *mat.Dense, a, b []float64) {
	return cloud(rng, n, 2, 1, 0), cloud(rng, m, 2, 1, apart), simplex(rng, n), simplex(rng, m)
}

// Whatever Tol, the error that a plan reports is that of its float64 matrix, Converged is not said
// above Tol, and the plan is that of float64.
func TestFloat32IsHonest(t *testing.T) {
	rng := seeded(32, 1)
	n, m := 150, 130
	if testing.Short() {
		n, m = 60, 50
	}
	x, y, a, b := float32Problem(rng, n, m, 3)
	free := ot.MatrixFree(x, y, ot.SqEuclidean)
	for _, eps := range []float64{1, 0.05, 0.002} {
		want := mustSolve(t, ot.Newton{Eps: eps, Tol: 1e-11}, weighted(free, a, b))
		for _, tol := range []float64{1e-3, 1e-6, 1e-9, 1e-13, 1e-18} {
			for name, s := range map[string]ot.Solver{
				"lbfgs":    ot.LBFGS{Eps: eps, Tol: tol, Control: ot.Control{MaxIter: 2000}},
				"sinkhorn": ot.Sinkhorn{Eps: eps, Tol: tol, Control: ot.Control{MaxIter: 300}},
				"newton":   ot.Newton{Eps: eps, Tol: tol},
			} {
				got := solved(s, weighted(free, a, b))
				honest(t, fmt.Sprintf("%s, ε = %g, Tol = %g", name, eps, tol), got, tol, 1e-12)
				if name != "sinkhorn" && tol >= 1e-9 && got.Status != ot.Converged {
					t.Errorf("%s, ε = %g, Tol = %g: %v", name, eps, tol, got.Status)
				}
				// 1e-7 is of the tolerance, at these conditions.
				if off := apartL1(got, want); tol == 1e-9 && got.Status == ot.Converged && off > 1e-7 {
					t.Errorf("%s, ε = %g: the plan is off by %g in L1", name, eps, off)
				}
			}
		}
	}
}

// honest fails unless the error that a plan reports is that of its matrix, and Converged is not said above tol.
func honest(t *testing.T, what string, p *ot.Plan, tol, rounding float64) {
	t.Helper()
	if l1 := ottest.L1Error(p); math.Abs(l1-p.MarginalL1) > rounding+1e-9*l1 {
		t.Errorf("%s: reports an error of %g, has %g", what, p.MarginalL1, l1)
	}
	if p.Status == ot.Converged && p.MarginalL1 > tol {
		t.Errorf("%s: %v at %g", what, p.Status, p.MarginalL1)
	}
}

// apartL1 is the L1 distance of two plans.
func apartL1(p, q *ot.Plan) float64 {
	return floats.Distance(p.Matrix().RawMatrix().Data, q.Matrix().RawMatrix().Data, 1)
}

// BenchmarkMatrixFree times a cloud with more points than a kernel is stored for.
func BenchmarkMatrixFree(b *testing.B) {
	const n = 6000
	rng := seeded(1, 1)
	free := ot.MatrixFree(cloud(rng, n, 2, 1, 0), cloud(rng, n, 2, 1, 1), ot.SqEuclidean)
	for _, tol := range []float64{1e-3, 1e-6} {
		b.Run(fmt.Sprintf("tol=%g", tol), func(b *testing.B) {
			began := processor()
			solveLoop(b, ot.LBFGS{Eps: .04, Tol: tol, Control: oneWorker}, uniform(free))
			b.ReportMetric((processor()-began).Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}
