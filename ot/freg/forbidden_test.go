package freg_test

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/fdiv"
	"coupling/ot/freg"
)

// With forbidden pairs a plan is optimal where its allowed entries are what the potentials say, the
// others 0, and the marginals right; under KL it is that of package ot.
func TestForbiddenPairs(t *testing.T) {
	p, mean := clouds(41, 12, 9, 2)
	c := ot.Cost(p.Geometry)
	for i := range 12 {
		for j := range 9 {
			if (i*5+j*3)%4 == 0 {
				c.Set(i, j, math.Inf(1))
			}
		}
	}
	p.Geometry = ot.Dense(c)
	for _, d := range fdiv.All() {
		for _, rel := range []float64{2, 0.1} {
			lambda := rel * mean
			plan, err := freg.Solver{F: d, Lambda: lambda}.Solve(t.Context(), p)
			if d == fdiv.ReverseKL {
				if !errors.Is(err, ot.ErrInfeasible) {
					t.Errorf("%v: err = %v, want ErrInfeasible", d, err)
				}
				continue
			}
			if err != nil || plan.Status != ot.Converged {
				t.Fatalf("%v, λ = %g mean: %v, %v", d, rel, plan, err)
			}
			tm := plan.Matrix()
			for i, a := range plan.A {
				for j, b := range plan.B {
					want := 0.0
					if !math.IsInf(c.At(i, j), 1) {
						want = a * b * d.Compatibility((plan.Phi[i]+plan.Psi[j]-c.At(i, j))/lambda)
					}
					if got := tm.At(i, j); math.Abs(got-want) > 1e-11 {
						t.Fatalf("%v, λ = %g mean: T[%d,%d] = %g, potentials say %g", d, rel, i, j, got, want)
					}
				}
			}
			if bad := marginals(tm, plan.A, plan.B); bad > 1e-9 {
				t.Errorf("%v, λ = %g mean: marginals are off by %g", d, rel, bad)
			}
			if !(math.Abs(plan.Primal-plan.Dual) <= 1e-7*(mean+lambda)) {
				t.Errorf("%v, λ = %g mean: primal %g, dual %g", d, rel, plan.Primal, plan.Dual)
			}
			if d == fdiv.KL {
				want, err := ot.LBFGS{Eps: lambda, Tol: 1e-11}.Solve(t.Context(), p)
				if err != nil || !mat.EqualApprox(tm, want.Matrix(), 1e-9) ||
					math.Abs(plan.Dual-want.RegKL()) > 1e-8*mean {
					t.Errorf("λ = %g mean: the plan is not that of ot, or the value %g is not %g: %v", rel, plan.Dual,
						want.RegKL(), err)
				}
			}
		}
	}
}

// What has no plan says so.
func TestForbiddenWithoutPlan(t *testing.T) {
	inf := math.Inf(1)
	for name, c := range map[string]*mat.Dense{
		"a source alone":   mat.NewDense(2, 2, []float64{inf, inf, 1, 1}),
		"a target alone":   mat.NewDense(2, 2, []float64{inf, 1, inf, 1}),
		"too little there": mat.NewDense(3, 2, []float64{1, inf, 1, inf, 1, 1}),
	} {
		if plan, err := (freg.Solver{F: fdiv.ChiSquare, Lambda: 0.1}).
			Solve(t.Context(), ot.Problem{Geometry: ot.Dense(c)}); !errors.Is(err, ot.ErrInfeasible) {
			t.Errorf("%s: %v, err = %v, want ErrInfeasible", name, plan, err)
		}
	}
}
