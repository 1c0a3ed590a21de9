package ot_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/ottest"
)

func meanOf(g cost.Geometry) float64 {
	c := ot.Cost(g)
	n, m := c.Dims()
	return mat.Sum(c) / float64(n*m)
}

// hardProblems are the inputs that break solvers.
func hardProblems() map[string]func() (ot.Problem, float64) {
	return map[string]func() (ot.Problem, float64){
		"small eps n=200": func() (ot.Problem, float64) {
			rng := seeded(1, 1)
			g := ot.Points(cloud(rng, 200, 2, 1, 0), cloud(rng, 200, 2, 1.3, .4), ot.SqEuclidean)
			return weighted(g, simplex(rng, 200), simplex(rng, 200)), 1e-3 * meanOf(g)
		},
		"small eps uniform assignment": func() (ot.Problem, float64) {
			rng := seeded(2, 1)
			g := ot.Points(cloud(rng, 60, 2, 1, 0), cloud(rng, 60, 2, 1.3, .4), ot.SqEuclidean)
			return uniform(g), 1e-3 * meanOf(g)
		},
		"cost outliers": func() (ot.Problem, float64) {
			rng := seeded(3, 1)
			c := filled(12, 10, func(i, j int) float64 {
				if v := rng.Float64(); (i+j)%5 > 0 {
					return v
				}
				return 1e6 * rng.Float64()
			})
			return weighted(ot.Dense(c), simplex(rng, 12), simplex(rng, 10)), 0.2
		},
		"outlier row and column": func() (ot.Problem, float64) {
			rng := seeded(4, 1)
			c := filled(9, 11, func(i, j int) float64 {
				if v := rng.Float64(); i != 4 && j != 7 {
					return v
				}
				return 1e6 * (1 + rng.Float64())
			})
			return weighted(ot.Dense(c), simplex(rng, 9), simplex(rng, 11)), 0.2
		},
		"tiny weights": func() (ot.Problem, float64) {
			rng := seeded(5, 1)
			g := ot.Points(cloud(rng, 40, 2, 1, 0), cloud(rng, 30, 2, 1, 1), ot.SqEuclidean)
			a, b := simplex(rng, 40), simplex(rng, 30)
			for i := range 8 {
				a[5*i] *= 1e-11
				b[3*i] *= 1e-11
			}
			return weighted(g, scaleTo1(a), scaleTo1(b)), 0.02 * meanOf(g)
		},
		"decoupled blocks":   func() (ot.Problem, float64) { return blocks(6, 8) },
		"unequal far blocks": func() (ot.Problem, float64) { return blocks(7, 7) },
	}
}

// blocks is a problem of two blocks a side, 40 apart, with 8 sources and this many targets in the second.
func blocks(seed uint64, targets int) (ot.Problem, float64) {
	rng := seeded(seed, 1)
	x, y := cloud(rng, 16, 2, 1, 0), cloud(rng, 16, 2, 1, 0)
	for i := range 8 {
		x.Set(i, 0, x.At(i, 0)+40)
	}
	for i := range targets {
		y.Set(i, 0, y.At(i, 0)+40)
	}
	return uniform(ot.Points(x, y, ot.SqEuclidean)), 1.5
}

// The quasi-Newton solvers reach 1e-12 on all of them, first-order steps at least say where they got to.
func TestHardProblems(t *testing.T) {
	for name, problem := range hardProblems() {
		p, eps := problem()
		for sv, s := range solvers(eps, 1e-12) {
			t.Run(name+"/"+sv, func(t *testing.T) {
				plan := solved(s, p)
				if got := ottest.L1Error(plan); plan.Status != ot.Converged || got > 1.1e-12 {
					t.Errorf("%v at L1 error %g, of the matrix %g", plan.Status, plan.MarginalL1, got)
				}
				if math.Abs(plan.RegKL()-primal(plan)) > 1e-10*math.Abs(plan.RegKL()) {
					t.Errorf("dual value %v, primal value %v", plan.RegKL(), primal(plan))
				}
			})
		}
		t.Run(name+"/sinkhorn", func(t *testing.T) {
			plan := solved(ot.Sinkhorn{Eps: eps, Tol: 1e-9, Control: ot.Control{MaxIter: 300}}, p)
			got := ottest.L1Error(plan)
			if math.Abs(got-plan.MarginalL1) > 1e-12+1e-6*got ||
				(plan.Status == ot.Converged) != (plan.MarginalL1 <= 1e-9) {
				t.Errorf("%v at L1 error %g, of the matrix %g", plan.Status, plan.MarginalL1, got)
			}
		})
	}
}

// primal returns <T,c> + ε KL(T|abᵀ) of the plan's matrix.
func primal(p *ot.Plan) float64 { return ottest.Primal(p, ot.Cost(p.Geometry)) }

// Costs that are multiples of 2⁻²⁰, plus u ⊕ v of multiples of 2⁻²⁰ up to 2²⁰, are exact in float64: the plan must not
// change, though potentials in float64 resolve only 1e-10/ε of the shifted problem.
func TestHugeCostsExactPlan(t *testing.T) {
	rng := seeded(8, 1)
	const n, m, eps = 14, 11, 0.2
	grid := func(v float64) float64 { return math.Round(v*(1<<20)) / (1 << 20) }
	small, huge := mat.NewDense(n, m, nil), mat.NewDense(n, m, nil)
	u, v := make([]float64, n), make([]float64, m)
	for i := range u {
		u[i] = grid(math.Ldexp(rng.Float64(), rng.IntN(21)))
	}
	for j := range v {
		v[j] = grid(math.Ldexp(rng.Float64(), rng.IntN(21)))
	}
	for i := range n {
		for j := range m {
			small.Set(i, j, grid(3*rng.Float64()))
			huge.Set(i, j, small.At(i, j)+u[i]+v[j])
		}
	}
	a, b := simplex(rng, n), simplex(rng, m)
	want := solveTight(t, weighted(ot.Dense(small), a, b), eps)
	for name, s := range solvers(eps, 1e-13) {
		p := solved(s, weighted(ot.Dense(huge), a, b))
		if p.Status != ot.Converged {
			t.Errorf("%s: %v at L1 error %g", name, p.Status, p.MarginalL1)
		}
		if !mat.EqualApprox(p.Matrix(), want.Matrix(), 3e-13) {
			t.Errorf("%s: the plan changed with a shift of the costs", name)
		}
		if !mat.EqualApprox(must.Get(p.GradCost()), must.Get(want.GradCost()), 3e-12) {
			t.Errorf("%s: the gradient changed with a shift of the costs", name)
		}
		// Potentials: u ⊕ v is what they absorb, to the resolution of float64 at 2²⁰.
		for i := range n {
			if d := (p.Alpha[i] - u[i]) - (p.Alpha[0] - u[0]) - (want.Alpha[i] - want.Alpha[0]); math.Abs(d) > 1e-9 {
				t.Errorf("%s: Alpha[%d] is off by %g", name, i, d)
			}
		}
	}
}

// A constant in the costs takes no digits and no evaluations of a balanced problem, and is no
// constant of an unbalanced one.
func TestOffset(t *testing.T) {
	rng := seeded(31, 1)
	c := cloud(rng, 60, 50, 1, 0)
	s := ot.LBFGS{Eps: 0.05, Tol: 1e-12}
	want := solved(s, uniform(ot.Dense(c)))
	for _, by := range []float64{1 << 14, -1 << 14, 1 << 24, -1 << 24} {
		p := solved(s, uniform(ot.Dense(lifted(c, by))))
		// Costs themselves are rounded to 2⁻⁵³ of the offset.
		tol := 1e-12 + math.Abs(by)*0x1p-52/0.05
		if p.Status != ot.Converged || p.Evaluations > want.Evaluations+2 ||
			!mat.EqualApprox(p.Matrix(), want.Matrix(), tol) {
			t.Errorf("costs + %g: %v, want %v", by, p, want)
		}
		if d := math.Abs(p.Sharp() - want.Sharp() - by); d > 10*math.Abs(by)*0x1p-52 {
			t.Errorf("costs + %g: the sharp loss is off by %g", by, d)
		}
	}
	shifted := lifted(c, 100)
	u := solved(ot.Unbalanced{Eps: 20, RhoA: 30, RhoB: 40}, uniform(ot.Dense(shifted)))
	T := u.Matrix()
	for i, f := range u.F {
		for j, g := range u.G {
			if w := u.A[i] * u.B[j] * math.Exp((f+g-shifted.At(i, j))/20); math.Abs(w-T.At(i, j)) > 1e-12*w {
				t.Fatalf("unbalanced T[%d,%d] = %v, the potentials say %v", i, j, T.At(i, j), w)
			}
		}
	}
}
