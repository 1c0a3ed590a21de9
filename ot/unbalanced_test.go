package ot_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/ottest"
	"coupling/ot/penalty"
)

// Whatever the size of the masses, a solve stops at Tol times the mass of b, reports the error that
// its plan has, and gives the same bits for any number of workers.
func TestUnbalancedMasses(t *testing.T) {
	rng := seeded(8, 1)
	g := ot.Points(cloud(rng, 300, 2, 1, 0), cloud(rng, 290, 2, 1, 0.5), ot.SqEuclidean)
	for _, mass := range []float64{1e-6, 1, 1e6} {
		a, b := masses(rng, 300, mass), masses(rng, 290, 2*mass)
		for _, eps := range []float64{0.5, 0.05} {
			var plans [2]*ot.Plan
			for k, workers := range []int{1, 3} {
				s := ot.Unbalanced{Eps: eps, RhoA: 1, RhoB: 0.5, Tol: 1e-8, Control: ot.Control{Workers: workers}}
				plans[k] = mustSolve(t, s, weighted(g, a, b))
			}
			p := plans[0]
			if !slices.Equal(p.F, plans[1].F) || !slices.Equal(p.G, plans[1].G) {
				t.Errorf("%v: one and three workers give other bits", p)
			}
			got, all := penalisedError(p, 1, 0.5), total(b)
			if p.MarginalL1 > 1e-8*all || math.Abs(got-p.MarginalL1) > 1e-11*all {
				t.Errorf("%v; the plan's error is %g of a mass of %g", p, got, all)
			}
		}
	}
}

// Outliers far beyond the penalties, whose columns are to be all but empty, do not slow the solve: L-BFGS once
// moved them by the long steps of its history, and line searches failed (837 evaluations at ρ = 1).
func TestUnbalancedOutliers(t *testing.T) {
	rng := seeded(8, 9)
	x, y := cloud(rng, 500, 2, 1, 0), cloud(rng, 400, 2, 1, 0.5)
	for j := range 20 {
		y.Set(j, 0, 10+float64(j))
	}
	p := weighted(ot.Points(x, y, ot.SqEuclidean), masses(rng, 500, 3), masses(rng, 400, 2))
	for rho, most := range map[float64]int{0.1: 30, 1: 60, 30: 150} {
		s := ot.Unbalanced{Eps: 0.05, RhoA: rho, RhoB: rho, Tol: 1e-6}
		got := solved(s, p)
		s.Tol = 1e-12
		want := solved(s, p)
		if got.Evaluations > most || math.Abs(got.Value().RegKL-want.Value().RegKL) > 1e-9 {
			t.Errorf("ρ = %g: %d evaluations, %g for %g", rho, got.Evaluations, got.Value().RegKL, want.Value().RegKL)
		}
		for j := range 20 {
			if math.Abs(got.G[j]-want.G[j]) > 1e-4*rho { // columns within √Tol: 5e-4 ρ
				t.Errorf("ρ = %g: G[%d] is %g, not %g", rho, j, got.G[j], want.G[j])
			}
		}
	}
}

// A constant in the costs, a million times the penalty, moves the potentials of an exact marginal and nothing else.
// Where no marginal is exact it forbids all transport, or makes more of it than float64 can count.
func TestUnbalancedOffset(t *testing.T) {
	c := filled(2, 3, func(i, j int) float64 { return float64(i * j) })
	a, b := []float64{1, 2}, []float64{1, 2, 3}
	for name, kind := range penalties {
		s := ot.Unbalanced{Eps: .1, RhoA: 1, RhoB: forbidden, Penalty: kind}
		want := mustSolve(t, s, weighted(ot.Dense(c), a, b))
		for _, by := range []float64{1e6, -1e6} {
			far := ot.Dense(lifted(c, by))
			got := mustSolve(t, s, weighted(far, a, b))
			if d := apart(got.F, want.F); !(d < 1e-6) {
				t.Errorf("%s, %g: F = %v, want %v", name, by, got.F, want.F)
			}
			s := ot.Unbalanced{Eps: .1, RhoA: 1, RhoB: 2}
			if p, err := s.Solve(ctx, weighted(far, a, b)); by < 0 && !errors.Is(err, ot.ErrCost) ||
				by > 0 && (err != nil || p.Value().Mass != 0) {
				t.Errorf("%g: %v, %v", by, p, err)
			}
		}
	}
}

// penalties are the kinds of marginal penalty.
var penalties = map[string]penalty.Kind{"KL": penalty.KL, "TV": penalty.TotalVariation, "χ²": penalty.ChiSquare}

// However large penalties are against ε, masses that differ take as few evaluations.
func TestUnbalancedTotals(t *testing.T) {
	rng := seeded(53, 1)
	c := ot.Points(cloud(rng, 200, 2, 1, 0), cloud(rng, 150, 2, 1, .3), ot.SqEuclidean)
	for name, kind := range penalties {
		for _, rho := range []float64{4, 40, 1e5} {
			for _, ratio := range []float64{.01, .7, 1.5, 100} {
				s := ot.Unbalanced{Eps: .4, RhoA: rho, RhoB: rho, Penalty: kind}
				p := mustSolve(t, s, weighted(c, masses(rng, 200, 1), masses(rng, 150, ratio)))
				if p.Evaluations > 250 {
					t.Errorf("%s, ρ = %g, masses 1 and %g: %d evaluations", name, rho, ratio, p.Evaluations)
				}
			}
		}
	}
}

// Of TestLaws, the laws of unbalanced transport.
func TestUnbalancedLaws(t *testing.T) {
	ottest.Unbalanced(t, func(eps, tol float64, a, b penalty.Term) ot.Solver {
		return ot.Unbalanced{Eps: eps, Tol: tol, RhoA: a.Rho, RhoB: b.Rho, Penalty: a.Kind}
	})
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

// The divergence of unbalanced transport is 0 between equal measures and positive between others,
// also those that differ in mass alone, which without ε/2·(Σa − Σb)² would be negative. Its
// gradients are those of its value.
func TestUnbalancedDivergence(t *testing.T) {
	rng := seeded(52, 1)
	x, y := cloud(rng, 6, 2, 1, 0), cloud(rng, 5, 2, 1, 0.5)
	a, b := []float64{.3, .2, .5, .1, .4, .2}, []float64{.2, .6, .1, .3, .4}
	for name, kind := range penalties {
		s := ot.Unbalanced{Eps: 0.3, RhoA: 0.7, RhoB: 0.7, Penalty: kind, Tol: 1e-14}
		of := ot.Divergence{Of: ot.Objective{Solver: s, Loss: ot.RegKL}}
		eval := func(x, y *mat.Dense, a, b []float64) *ot.Divergences {
			return must.Get(of.Eval(ctx, x, y, a, b, ot.SqEuclidean, ot.ByX|ot.ByY|ot.ByWeights))
		}
		if d := eval(x, mat.DenseCopyOf(x), a, slices.Clone(a)); math.Abs(d.Value) > 1e-13 {
			t.Errorf("%s: between equal measures it is %g", name, d.Value)
		}
		if d := eval(x, x, a, []float64{.6, .4, 1, .2, .8, .4}); d.Value < 1e-2 {
			t.Errorf("%s: between a measure and its double it is %g", name, d.Value)
		}
		value := func() float64 { return eval(x, y, a, b).Value }
		d := eval(x, y, a, b)
		dx, dy, da, db := mat.DenseCopyOf(d.X), mat.DenseCopyOf(d.Y), slices.Clone(d.A), slices.Clone(d.B)
		pointDifferences(t, name+": x", x, dx, .1, value)
		pointDifferences(t, name+": y", y, dy, .1, value)
		differences(t, name+": a", a, da, .1, value)
		differences(t, name+": b", b, db, .1, value)
	}
}
