package ot_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"coupling/ot"
)

// Whatever the size of the masses, a solve stops at Tol times the mass of b, reports the error that
// its plan has, and gives the same bits for any number of workers.
func TestUnbalancedMasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	g := ot.Points(cloud(rng, 300, 2, 1, 0), cloud(rng, 290, 2, 1, 0.5), ot.SqEuclidean)
	for _, mass := range []float64{1e-6, 1, 1e6} {
		a, b := masses(rng, 300, mass), masses(rng, 290, 2*mass)
		for _, eps := range []float64{0.5, 0.05} {
			t.Run(fmt.Sprintf("mass=%g/eps=%g", mass, eps), func(t *testing.T) {
				var plans [2]*ot.Plan
				for k, workers := range []int{1, 3} {
					var err error
					s := ot.Unbalanced{Eps: eps, RhoA: 1, RhoB: 0.5, Tol: 1e-8, Control: ot.Control{Workers: workers}}
					if plans[k], err = s.Solve(context.Background(), ot.Problem{Geometry: g, A: a, B: b}); err != nil {
						t.Fatal(err)
					}
				}
				p := plans[0]
				if !slices.Equal(p.F, plans[1].F) || !slices.Equal(p.G, plans[1].G) {
					t.Error("one and three workers give other bits")
				}
				var total float64
				for _, v := range b {
					total += v
				}
				got := penalisedError(p, 1, 0.5)
				if p.Status != ot.Converged || p.MarginalL1 > 1e-8*total || math.Abs(got-p.MarginalL1) > 1e-11*total {
					t.Errorf("%v; the plan's error is %g of a mass of %g", p, got, total)
				}
			})
		}
	}
}

// masses draws n weights that sum to about the total.
func masses(rng *rand.Rand, n int, total float64) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = rng.ExpFloat64() * total / float64(n)
	}
	return w
}

// penalisedError is Σ|T1 − a e^(−f/ρa)| + Σ|Tᵀ1 − b e^(−g/ρb)|.
func penalisedError(p *ot.Plan, rhoA, rhoB float64) (sum float64) {
	T := p.Matrix()
	n, m := T.Dims()
	cols := make([]float64, m)
	for i := range n {
		row := 0.0
		for j, v := range T.RawRowView(i) {
			row += v
			cols[j] += v
		}
		sum += math.Abs(row - p.A[i]*math.Exp(-p.F[i]/rhoA))
	}
	for j, v := range cols {
		sum += math.Abs(v - p.B[j]*math.Exp(-p.G[j]/rhoB))
	}
	return sum
}
