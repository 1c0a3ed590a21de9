package ot_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/must"
	"coupling/ot"
)

var forbidden = math.Inf(1)

// masked are costs of points of the plane with a share of pairs forbidden, those of a permutation never.
func masked(rng *rand.Rand, n int, share float64) *mat.Dense {
	c := mat.NewDense(n, n, nil)
	keep := rng.Perm(n)
	c.Apply(func(i, j int, _ float64) float64 {
		v := rng.Float64()
		if j != keep[i] && rng.Float64() < share {
			return forbidden
		}
		return v
	}, c)
	return c
}

// Costs that are large and finite give the same plan, values and gradients, where exp(−c/ε) is 0
// and the offset does no harm.
func TestForbiddenIsTheLimit(t *testing.T) {
	rng := seeded(1, 1)
	for _, n := range []int{7, 40, 300} { // elimination, conjugate gradients, lists
		c := masked(rng, n, 0.5)
		far := mat.DenseCopyOf(c)
		far.Apply(func(_, _ int, v float64) float64 { return min(v, 1e3) }, far)
		const eps = 0.1
		want := mustSolve(t, ot.LBFGS{Eps: eps, Tol: 1e-12}, uniform(ot.Dense(far)))
		for _, s := range solversWith(eps, 1e-12, ot.Control{}) {
			plan := solved(s, uniform(ot.Dense(c)))
			if plan.Status == ot.IterationLimit { // a first-order method's right
				continue
			}
			if plan.Status != ot.Converged {
				t.Fatal(plan)
			}
			v, w := plan.Value(), want.Value()
			for _, d := range []float64{v.Sharp - w.Sharp, v.KL - w.KL, v.SumPlogP - w.SumPlogP, v.RegKL - w.RegKL} {
				if !(math.Abs(d) < 1e-10) {
					t.Errorf("%v: values %+v, want %+v", plan, v, w)
					break
				}
			}
			got, ref := plan.Matrix(), want.Matrix()
			for i := range n {
				for j := range n {
					if math.IsInf(c.At(i, j), 1) && got.At(i, j) != 0 ||
						!(math.Abs(got.At(i, j)-ref.At(i, j)) < 1e-11) {
						t.Fatalf("%v: T[%d,%d] = %g of cost %g, want %g", plan, i, j, got.At(i, j), c.At(i, j),
							ref.At(i, j))
					}
				}
			}
			g := must.Get(plan.GradCost())
			h := must.Get(want.GradCost())
			if !mat.EqualApprox(g, h, 1e-9) {
				t.Errorf("%v: gradients by costs differ", plan)
			}
		}
	}
}

// Offsets and small ε beside forbidden pairs.
func TestForbiddenExtremes(t *testing.T) {
	rng := seeded(2, 1)
	c := masked(rng, 30, 0.6)
	for _, by := range []float64{0, 1e6, -1e7} {
		moved := lifted(c, by)
		for _, eps := range []float64{1, 0.01} {
			plan := mustSolve(t, ot.LBFGS{Eps: eps, Tol: 1e-10}, uniform(ot.Dense(moved)))
			if v := plan.Value(); !(math.Abs(v.Sharp-by) < 1) || !(v.KL > 0) {
				t.Errorf("offset %g, ε = %g: %+v", by, eps, v)
			}
			g := must.Get(plan.Grad(ot.Sharp))
			da, db, _ := g.Weights()
			for i := range da {
				if math.IsNaN(da[i]) || math.IsNaN(db[i]) {
					t.Fatalf("offset %g, ε = %g: derivatives by weights %v %v", by, eps, da, db)
				}
			}
		}
	}
}

// What has no plan is an error, whether an atom has no partner or too few do for their mass.
func TestInfeasible(t *testing.T) {
	alone := mat.NewDense(2, 2, []float64{forbidden, forbidden, 1, 2})
	crowded := mat.NewDense(3, 3, []float64{1, forbidden, forbidden, 1, forbidden, forbidden, 1, 1, 1})
	for _, c := range []*mat.Dense{alone, mat.DenseCopyOf(alone.T()), crowded, mat.DenseCopyOf(crowded.T())} {
		for _, s := range allSolvers(0.1) {
			if plan, err := s.Solve(t.Context(), uniform(ot.Dense(c))); !errors.Is(err,
				ot.ErrInfeasible) || plan != nil {
				t.Errorf("%v: plan %v, error %v", mat.Formatted(c), plan, err)
			}
		}
	}
	// The same costs with masses that fit.
	plan, err := ot.Solve(t.Context(), weighted(ot.Dense(crowded), []float64{1, 2, 4}, []float64{4, 2, 1}), 0.1)
	if err != nil || plan.Status != ot.Converged || math.Abs(plan.Matrix().At(2, 0)-1./7) > 1e-9 {
		t.Error(plan, err)
	}
	// An atom of weight 0 that has no partner has no finite potential, and harms no others.
	c := ot.Dense(mat.NewDense(2, 2, []float64{1, forbidden, forbidden, 1}))
	plan = mustSolve(t, ot.LBFGS{Eps: 0.1}, weighted(c, []float64{1, 0}, []float64{1, 0}))
	da, db, _ := must.Get(plan.Grad(ot.Sharp)).Weights()
	if g := must.Get(plan.GradCost()); !mat.EqualApprox(g, plan.Matrix(), 1e-12) ||
		!(min(plan.F[1], plan.G[1], da[1], db[1]) == forbidden) {
		t.Errorf("without a partner: potentials %v, %v, gradients %v, %v, %v", plan.F, plan.G, da, db, mat.Formatted(g))
	}
	for _, v := range []float64{math.NaN(), math.Inf(-1)} {
		crowded.Set(0, 0, v)
		if _, err := ot.Solve(t.Context(), uniform(ot.Dense(crowded)), 0.1); !errors.Is(err, ot.ErrCost) {
			t.Errorf("cost %g beside +Inf: error %v", v, err)
		}
	}
}

// A pair of cost +Inf is forbidden. Here no worker may take the job of the same number.
func ExampleErrInfeasible() {
	cost := mat.NewDense(2, 2, []float64{math.Inf(1), 3, 5, math.Inf(1)})
	plan, err := ot.Solve(context.Background(), uniform(ot.Dense(cost)), 0.1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f\n", mat.Formatted(plan.Matrix()))
	cost.Set(1, 0, math.Inf(1))
	_, err = ot.Solve(context.Background(), uniform(ot.Dense(cost)), 0.1)
	fmt.Println(err)
	// Output:
	// ⎡0.00  0.50⎤
	// ⎣0.50  0.00⎦
	// ot: every pair of source 1 is forbidden
}

// Costs of 0 and +Inf, where potentials differ by chains of logarithms and by no costs.
func TestPattern(t *testing.T) {
	rng := seeded(61, 1)
	const n = 40
	c, a, b := mat.NewDense(n, n, nil), make([]float64, n), make([]float64, n)
	for i := range n {
		for j := range n {
			if (j+n-i)%n > 1 && rng.Float64() > .1 {
				c.Set(i, j, forbidden)
				continue
			}
			w := math.Exp(3 * rng.NormFloat64())
			a[i], b[j] = a[i]+w, b[j]+w
		}
	}
	if p := mustSolve(t, ot.Newton{Eps: 1}, weighted(ot.Dense(c), a, b)); p.Iterations > 25 {
		t.Error(p)
	}
}
