package ot_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/exact"
	"coupling/ot/gaussian"
	"coupling/ot/ottest"
	"coupling/ot/penalty"
)

// Every bad input is an error of the right kind that names the argument.
func TestBadInput(t *testing.T) {
	c := mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6})
	g := ot.Dense(c)
	x, y := mat.NewDense(2, 2, []float64{0, 1, 2, 3}), mat.NewDense(3, 2, nil)
	nan, inf := math.NaN(), math.Inf(1)
	withCost := func(v float64) ot.Problem {
		d := mat.DenseCopyOf(c)
		d.Set(1, 2, v)
		return uniform(ot.Dense(d))
	}
	bent := mat.NewDense(2, 2, []float64{0, 1, nan, 3})
	check := func(p ot.Problem, eps float64, kind error, names string) {
		for name, s := range allSolvers(eps) {
			t.Run(names+"/"+name, func(t *testing.T) {
				plan, err := s.Solve(ctx, p)
				if !errors.Is(err, kind) || plan != nil {
					t.Fatalf("plan %v, err = %v, want a %v", plan != nil, err, kind)
				}
				if !strings.HasPrefix(err.Error(), "ot: ") || !strings.Contains(err.Error(), names) {
					t.Errorf("err = %q does not name %q", err, names)
				}
			})
		}
	}
	for _, eps := range []float64{0, -1, nan, inf, 1e-30} {
		check(uniform(g), eps, ot.ErrParameter, fmt.Sprintf("Eps = %v", eps))
	}
	for kind, problems := range map[error]map[string]ot.Problem{
		ot.ErrShape: {
			"Geometry":        {},
			"cost":            uniform(ot.Dense(nil)),
			"Geometry is 0×0": uniform(ot.Dense(&mat.Dense{})),
			"Problem.A":       {Geometry: g, A: []float64{1}},
			"Problem.B":       {Geometry: g, B: []float64{1, 1, 1, 1}},
			"y has 1":         uniform(ot.Points(x, mat.NewDense(3, 1, nil), ot.L1)),
			"x is empty":      uniform(ot.Points(nil, y, ot.L1)),
		},
		ot.ErrCost: {
			"cost[1,2] = NaN":  withCost(nan),
			"cost[1,2] = -Inf": withCost(-inf),
			"x[1,0] = NaN":     uniform(ot.Points(bent, y, ot.L1)),
			"cost[0,0] = +Inf": uniform(ot.Points(mat.NewDense(1, 1, []float64{1e200}), mat.NewDense(1, 1, nil),
				ot.SqEuclidean)),
		},
		ot.ErrWeights: {
			"Problem.A[1] = NaN":    {Geometry: g, A: []float64{1, nan}},
			"Problem.A[0] = +Inf":   {Geometry: g, A: []float64{inf, 1}},
			"Problem.B[1] = -1":     {Geometry: g, B: []float64{1, -1, 1}},
			"Problem.B sums to 0":   {Geometry: g, B: []float64{0, 0, 0}},
			"Problem.B sums to 1.5": weighted(g, []float64{.5, .5}, []float64{.5, .5, .5}),
		},
		ot.ErrParameter: {
			"cost is nil":   uniform(ot.Points(x, y, nil)),
			"Metric(77)":    uniform(ot.Points(x, y, cost.Metric(77))),
			"Power(0)":      uniform(ot.Points(x, y, cost.Power(0))),
			"SqEuclideanL1": uniform(ot.Points(x, y, cost.SqEuclideanL1(nan))),
			"nil Value":     uniform(ot.Points(x, y, cost.CostFunc{})),
		},
	} {
		for names, p := range problems {
			check(p, 1, kind, names)
		}
	}
}

// solversWith are all that take balanced problems, and allSolvers those at their default tolerance.
func solversWith(eps, tol float64, c ot.Control) map[string]ot.Solver {
	return map[string]ot.Solver{
		"sinkhorn": ot.Sinkhorn{Eps: eps, Tol: tol, Control: c},
		"scaling":  ot.Scaling{Eps: eps, Tol: tol, Control: c},
		"lbfgs":    ot.LBFGS{Eps: eps, Tol: tol, Control: c},
		"newton":   ot.Newton{Eps: eps, Tol: tol, Control: c},
	}
}

func allSolvers(eps float64) map[string]ot.Solver { return solversWith(eps, 0, ot.Control{}) }

func TestBadParameters(t *testing.T) {
	p := uniform(ot.Dense(mat.NewDense(2, 2, []float64{0, 1, 1, 0})))
	nan := math.NaN()
	for names, s := range map[string]ot.Solver{
		"Tol = -1":        ot.Sinkhorn{Eps: 1, Tol: -1},
		"Tol = NaN":       ot.Sinkhorn{Eps: 1, Tol: nan},
		"MaxIter = -3":    ot.Sinkhorn{Eps: 1, Control: ot.Control{MaxIter: -3}},
		"Anneal = 2":      ot.Sinkhorn{Eps: 1, Control: ot.Control{Anneal: 2}},
		"Relax = 2":       ot.Sinkhorn{Eps: 1, Relax: 2},
		"Relax = 0.5":     ot.Sinkhorn{Eps: 1, Relax: 0.5},
		"Relax = -1":      ot.Scaling{Eps: 1, Relax: -1},
		"Memory = -1":     ot.LBFGS{Eps: 1, Memory: -1},
		"Start[0] = NaN":  ot.LBFGS{Eps: 1, Control: ot.Control{Start: []float64{nan, 0}}},
		"RhoA = 0":        ot.Unbalanced{Eps: 1, RhoA: 0, RhoB: 1},
		"RhoB = NaN":      ot.Unbalanced{Eps: 1, RhoA: 1, RhoB: nan},
		"penalty.Kind(3)": ot.Unbalanced{Eps: 1, RhoA: 1, RhoB: 1, Penalty: 3},
	} {
		if _, err := s.Solve(ctx, p); !errors.Is(err, ot.ErrParameter) || !strings.Contains(err.Error(), names) {
			t.Errorf("%+v: err = %v, want a parameter error naming %q", s, err, names)
		}
	}
	if _, err := (ot.LBFGS{Eps: 1, Control: ot.Control{Start: []float64{0}}}).
		Solve(ctx, p); !errors.Is(err, ot.ErrShape) {
		t.Errorf("Start of length 1 for 2 targets: err = %v, want ErrShape", err)
	}
	refused(t, "Batch without a solver", failure((ot.Batch{}).Solve(ctx, []ot.Problem{p})), ot.ErrParameter)
	if _, err := (ot.Batch{Solver: ot.LBFGS{Eps: 1}}).Solve(ctx, []ot.Problem{p, {}}); !errors.Is(err, ot.ErrShape) ||
		!strings.Contains(err.Error(), "problem 1") {
		t.Errorf("Batch with a bad problem: err = %v, want ErrShape naming problem 1", err)
	}
}

// A solve that was cut short never looks converged.
func TestStatusIsHonest(t *testing.T) {
	rng := seeded(1, 9)
	p := uniform(ot.Dense(cloud(rng, 20, 20, 1, 0)))
	few := solversWith(0.05, 0, ot.Control{MaxIter: 3})
	few["unbalanced"] = ot.Unbalanced{Eps: 0.01, RhoA: 1, RhoB: 1, Control: ot.Control{MaxIter: 2}}
	for name, s := range few {
		plan := solved(s, p)
		if plan.Status != ot.IterationLimit || plan.MarginalL1 < 1e-6 {
			t.Errorf("%s after 3 iterations: %v at L1 error %g, want the iteration limit", name, plan.Status,
				plan.MarginalL1)
		}
		if name != "unbalanced" {
			if got := ottest.L1Error(plan); math.Abs(got-plan.MarginalL1) > 1e-12 {
				t.Errorf("%s: MarginalL1 = %g, the matrix's is %g", name, plan.MarginalL1, got)
			}
		}
	}
	// Below what float64 can do: stagnated, and the plan is as good as it gets.
	for name, s := range solvers(0.05, 1e-18) {
		plan := solved(s, p)
		if plan.Status == ot.Converged && plan.MarginalL1 > 1e-18 {
			t.Errorf("%s: converged at L1 error %g to tolerance 1e-18", name, plan.MarginalL1)
		}
		if plan.MarginalL1 > 1e-14 {
			t.Errorf("%s: %v at L1 error %g, want below 1e-14", name, plan.Status, plan.MarginalL1)
		}
	}
	if s := (ot.Status(0)).String() + (ot.Status(42)).String(); s != "unsolvedStatus(42)" {
		t.Errorf("names of odd statuses: %q", s)
	}
}

// An L1 error that stays where it is for thousands of steps, while potentials climb the cost of an
// outlier, is not stuck.
func TestSlowIsNotStuck(t *testing.T) {
	rng := seeded(6, 9)
	c := filled(12, 12, func(i, _ int) float64 {
		if i == 3 {
			return 1e3 * rng.Float64()
		}
		return rng.Float64()
	})
	p := weighted(ot.Dense(c), simplex(rng, 12), simplex(rng, 12))
	plan := solved(ot.Sinkhorn{Eps: 1e-2, Relax: 1, Control: ot.Control{Anneal: 1, MaxIter: 30_000}}, p)
	if plan.Status == ot.Stagnated {
		t.Errorf("stagnated at L1 error %g after %d iterations", plan.MarginalL1, plan.Iterations)
	}
}

// A nil geometry is an error, of every type and by every way in.
func TestNilGeometry(t *testing.T) {
	for name, g := range map[string]cost.Geometry{
		"nil": nil, "points": (*cost.Cloud)(nil), "matrix": (*cost.Matrix)(nil),
	} {
		p := uniform(g)
		for solver, s := range allSolvers(0.1) {
			if _, err := s.Solve(ctx, p); !errors.Is(err, ot.ErrShape) {
				t.Errorf("%s, %s: err = %v, want ErrShape", name, solver, err)
			}
		}
		if _, err := (ot.Unbalanced{Eps: 1, RhoA: 1, RhoB: 1}).Solve(ctx, p); !errors.Is(err, ot.ErrShape) {
			t.Errorf("%s, unbalanced: err = %v, want ErrShape", name, err)
		}
	}
}

func TestCancel(t *testing.T) {
	rng := seeded(2, 9)
	p := uniform(ot.Dense(cloud(rng, 30, 30, 1, 0)))
	stop, cancel := context.WithCancel(ctx)
	n := 0
	s := ot.Sinkhorn{Eps: 0.001, Control: ot.Control{Trace: func(ot.Step) error {
		if n++; n == 5 {
			cancel()
		}
		return nil
	}}}
	plan, err := s.Solve(stop, p)
	if !errors.Is(err, context.Canceled) || plan == nil || plan.Status != ot.Interrupted || plan.Eps != 0.001 {
		t.Fatalf("plan %v, err = %v, want an interrupted plan beside context.Canceled", plan, err)
	}
	if got := ottest.L1Error(plan); math.Abs(got-plan.MarginalL1) > 1e-12 {
		t.Errorf("MarginalL1 = %g, the matrix's is %g", plan.MarginalL1, got)
	}
	if n != 5 {
		t.Errorf("%d evaluations after a cancel at the fifth", n)
	}
	for name, s := range allSolvers(0.05) {
		if plan, err := s.Solve(stop, p); !errors.Is(err, context.Canceled) || plan.Status != ot.Interrupted {
			t.Errorf("%s on a cancelled context: %v, err = %v", name, plan, err)
		}
	}
	enough := errors.New("enough")
	plan, err = ot.LBFGS{Eps: 0.001, Control: ot.Control{Trace: func(s ot.Step) error {
		if s.Evaluation == 7 {
			return enough
		}
		return nil
	}}}.Solve(ctx, p)
	if !errors.Is(err, enough) || plan.Status != ot.Interrupted ||
		math.Abs(ottest.L1Error(plan)-plan.MarginalL1) > 1e-12 {
		t.Errorf("stopped by Trace: %v, err = %v", plan, err)
	}
}

func TestTrace(t *testing.T) {
	rng := seeded(3, 9)
	p := uniform(ot.Dense(cloud(rng, 30, 25, 1, 0)))
	var steps []ot.Step
	trace := func(s ot.Step) error { steps = append(steps, s); return nil }
	plan := solved(ot.LBFGS{Eps: 0.01, Control: ot.Control{Trace: trace}}, p)
	last := steps[len(steps)-1]
	if last.MarginalL1 != plan.MarginalL1 || last.Evaluation != plan.Evaluations || last.Eps != 0.01 ||
		last.Iteration != plan.Iterations {
		t.Errorf("last step %+v, plan %d iterations, %d evaluations, L1 error %g", last, plan.Iterations,
			plan.Evaluations, plan.MarginalL1)
	}
	if steps[0].Eps <= 0.01 {
		t.Errorf("the first ε is %g: want annealing from above 0.01", steps[0].Eps)
	}
	for k := 1; k < len(steps); k++ {
		if steps[k].Evaluation <= steps[k-1].Evaluation || steps[k].Eps > steps[k-1].Eps ||
			steps[k].Elapsed < steps[k-1].Elapsed {
			t.Errorf("step %d %+v follows %+v", k, steps[k], steps[k-1])
		}
	}
}

// A start from the solution ends at once; one from next to it takes no more evaluations than a cold start, and one from
// nowhere one more at most, also from so far out that float64 holds no differences of potentials there.
func TestWarmStart(t *testing.T) {
	rng := seeded(4, 9)
	g := ot.Points(cloud(rng, 40, 2, 1, 0), cloud(rng, 30, 2, 1, 1), ot.SqEuclidean)
	near := ot.Points(g.X(), cloud(rng, 30, 2, 0, 0), ot.SqEuclidean)
	near.Y().Apply(func(j, k int, _ float64) float64 { return g.Y().At(j, k) + 1e-4*rng.NormFloat64() }, near.Y())
	near = ot.Points(g.X(), near.Y(), ot.SqEuclidean)
	for _, eps := range []float64{0.05, 0.5} {
		cold := solved(ot.LBFGS{Eps: eps}, uniform(g))
		for name, s := range map[string]ot.Solver{
			"sinkhorn": ot.Sinkhorn{Eps: eps, Control: ot.Control{Start: cold.G}},
			"lbfgs":    ot.LBFGS{Eps: eps, Control: ot.Control{Start: cold.G}},
			"newton":   ot.Newton{Eps: eps, Control: ot.Control{Start: cold.G}},
		} {
			same := solved(s, uniform(g))
			if same.Evaluations > 4 || same.Status != ot.Converged {
				t.Errorf("%s from its own solution: %v after %d evaluations", name, same.Status, same.Evaluations)
			}
		}
		fresh := solved(ot.LBFGS{Eps: eps}, uniform(near))
		warm := solved(ot.LBFGS{Eps: eps, Control: ot.Control{Start: cold.G}}, uniform(near))
		wild := make([]float64, 30)
		for j := range wild {
			wild[j] = 10 * rng.NormFloat64()
		}
		lost := solved(ot.LBFGS{Eps: eps, Control: ot.Control{Start: wild}}, uniform(near))
		if lost.Status != ot.Converged || lost.Evaluations > fresh.Evaluations+1 {
			t.Errorf("ε=%g: a start from nowhere took %d evaluations (%v), cold %d", eps, lost.Evaluations, lost.Status,
				fresh.Evaluations)
		}
		if warm.Status != ot.Converged || warm.Evaluations > fresh.Evaluations {
			t.Errorf("ε=%g: warm start took %d evaluations (%v), cold %d", eps, warm.Evaluations, warm.Status,
				fresh.Evaluations)
		}
		for k, of := range []ot.WarmStarter{
			ot.Sinkhorn{Eps: eps},
			ot.LBFGS{Eps: eps},
			ot.Unbalanced{Eps: eps, RhoA: 1, RhoB: 2},
			ot.Unbalanced{Eps: eps, RhoA: 1, RhoB: 2, Penalty: penalty.ChiSquare},
		} {
			wild[k] += 1e12 * eps
			got, want := solved(of.From(wild), uniform(near)).RegKL(), solved(of, uniform(near)).RegKL()
			if !(math.Abs(got-want) <= 1e-8) {
				t.Errorf("ε=%g, %T from far out: the value is %g, cold %g", eps, of, got, want)
			}
		}
	}
}

func TestSolve(t *testing.T) {
	rng := seeded(5, 9)
	g := ot.Points(cloud(rng, 30, 2, 1, 0), cloud(rng, 20, 2, 1, 1), ot.SqEuclidean)
	for _, eps := range []float64{100, 0.05} {
		if p, err := ot.Solve(ctx, uniform(g), eps); err != nil || p.Status != ot.Converged ||
			p.MarginalL1 > 1e-9 {
			t.Errorf("Eps %g: %v, %v", eps, p, err)
		}
	}
}

// listed returns the geometry that lists every pair of a matrix.
func listed(c *mat.Dense) cost.Geometry {
	n, m := c.Dims()
	starts, targets := []int{0}, []int(nil)
	for i := range n {
		for j := range m {
			targets = append(targets, j)
		}
		starts = append(starts, (i+1)*m)
	}
	return cost.Sparse(m, starts, targets, c.RawMatrix().Data)
}

// hostile draws a problem of costs and weights of extreme range, and the rounding of its marginals.
func hostile(t *testing.T, seed uint64, n, m uint8, eps, scale float64, flags uint8) (ot.Problem, float64) {
	if scale-scale != 0 || eps-eps != 0 {
		t.Skip("not finite")
	}
	rng := seeded(seed, 0)
	rows, cols := int(n%12)+1, int(m%12)+1
	c := filled(rows, cols, func(_, _ int) float64 {
		v := scale * rng.NormFloat64()
		if flags&1 != 0 {
			v *= math.Pow(10, 8*rng.Float64())
		}
		if v-v != 0 {
			v = 0
		}
		return v
	})
	a, b := simplex(rng, rows), simplex(rng, cols)
	if flags&2 != 0 {
		a[0], b[cols-1] = 0, 0
		if rows > 1 {
			a[1] *= 1e-200
		}
	}
	p := weighted(ot.Dense(c), scaleTo1(a), scaleTo1(b))
	rounding := 1e-12
	switch flags >> 2 & 3 {
	case 1: // grids are not solved in reduced costs
		p.Geometry = cost.Grid(c)
		rounding += 0x1p-50 * max(mat.Max(c), -mat.Min(c)) / eps
	case 2:
		p.Geometry = listed(c)
	}
	return p, rounding
}

// Any finite input, as a matrix, along a grid of one axis or as a list, ends in a plan that is what it says, or in an
// error.
func FuzzSolve(f *testing.F) {
	f.Add(uint64(1), uint8(3), uint8(4), 0.1, 1.0, uint8(0))
	f.Add(uint64(2), uint8(1), uint8(9), 1e-6, 1e6, uint8(1))
	f.Add(uint64(3), uint8(9), uint8(1), 1e3, 1e-9, uint8(2))
	f.Add(uint64(4), uint8(8), uint8(8), 1e-3, 1e300, uint8(3))
	f.Add(uint64(5), uint8(8), uint8(6), 5e-324, 5e-324, uint8(3))
	f.Add(uint64(6), uint8(11), uint8(9), 0.03, 1.0, uint8(4))
	f.Add(uint64(7), uint8(11), uint8(9), 0.03, 1.0, uint8(10))
	f.Add(uint64(159), uint8(24), uint8(0), 0.048, 1e300, uint8(133)) // one cost on a grid
	f.Add(uint64(52), uint8(24), uint8(0), 738.432, 1e300, uint8(133))
	f.Fuzz(func(t *testing.T, seed uint64, n, m uint8, eps, scale float64, flags uint8) {
		p, rounding := hostile(t, seed, n, m, eps, scale, flags)
		for name, s := range solversWith(eps, 0, ot.Control{MaxIter: 300}) {
			plan, err := s.Solve(ctx, p)
			if err != nil {
				continue
			}
			T := plan.Matrix()
			got := ottest.L1Error(plan)
			if got != got || mat.Min(T) < 0 || math.Abs(got-plan.MarginalL1) > 1e-9+rounding+1e-3*got {
				t.Fatalf("%s: %v says L1 error %g, the matrix says %g", name, plan.Status, plan.MarginalL1, got)
			}
			if plan.Status == ot.Converged && got > 4e-9 { // Tol, and as much for rounding of rows and of columns
				t.Fatalf("%s: converged at L1 error %g", name, got)
			}
			if g, err := plan.GradCost(); err == nil && g.At(0, 0) != g.At(0, 0) ||
				err != nil && !errors.Is(err, ot.ErrUnconverged) {
				t.Fatalf("%s: gradient %v, %v", name, g, err)
			}
		}
	})
}

// An unbalanced solve of any finite input ends in an error, or in a plan that says honestly how far its marginals are
// from those that its potentials ask for.
func FuzzUnbalanced(f *testing.F) {
	f.Add(uint64(1), uint8(3), uint8(4), 0.1, 1.0, uint8(0), 1.0, uint8(0))
	f.Add(uint64(2), uint8(9), uint8(9), 1e-3, 1e2, uint8(2), 10.0, uint8(1))
	f.Add(uint64(3), uint8(8), uint8(6), 1.0, 1e-9, uint8(4), 1e-6, uint8(2))
	f.Add(uint64(4), uint8(8), uint8(6), 1.0, 1.0, uint8(8), 1e9, uint8(4))
	f.Add(uint64(34), uint8(27), uint8(73), 1./6, 395.000000005, uint8(47), 5e-7, uint8(160)) // a mass beyond float64
	f.Fuzz(func(t *testing.T, seed uint64, n, m uint8, eps, scale float64, flags uint8, rho float64, kind uint8) {
		p, rounding := hostile(t, seed, n, m, eps, scale, flags)
		s := ot.Unbalanced{Eps: eps, RhoA: rho, RhoB: 2 * rho, Penalty: penalty.Kind(kind % 3)}
		s.MaxIter = 300
		if kind&4 != 0 {
			s.RhoB = math.Inf(1)
		}
		plan, err := s.Solve(ctx, p)
		if err != nil || plan.Status != ot.Converged {
			return
		}
		var off, size float64
		T, largest := plan.Matrix(), eps
		for _, side := range []struct {
			T    mat.Matrix
			w, f []float64
			of   penalty.Term
		}{
			{T, plan.A, plan.F, penalty.Term{Kind: s.Penalty, Rho: s.RhoA}},
			{T.T(), plan.B, plan.G, penalty.Term{Kind: s.Penalty, Rho: s.RhoB}},
		} {
			for i, w := range side.w {
				got := total(mat.Row(nil, i, side.T))
				size += got + w
				if w > 0 { // ε log w is part of what solvers iterate on
					largest = max(largest, math.Abs(side.f[i]), -eps*math.Log(w))
					f := side.f[i]
					if bounded, _ := side.of.Bounded(f); bounded && math.Abs(f) >= side.of.Rho-0x1p-48*largest {
						f = math.Copysign(side.of.Rho, f)
					}
					off += math.Abs(got - w*side.of.Share(f, got/w))
				}
			}
		}
		rounding += 1e-8 + 0x1p-50*largest/rho // what potentials of that size can say
		if !(off <= rounding*size) {
			t.Fatalf("converged at %g; the matrix is off by %g of %g", plan.MarginalL1, off, size)
		}
	})
}

// One set of kinds: errors.Is knows those of ot in the packages beside it.
func TestOneSetOfErrors(t *testing.T) {
	_, err := exact.Simplex{}.Solve(ctx, ot.Problem{Geometry: ot.Dense(mat.NewDense(2, 2, nil)), A: []float64{-1, 2}})
	_, unequal := exact.Simplex{}.Solve(ctx, ot.Problem{Geometry: ot.Dense(mat.NewDense(2, 2, nil)),
		A: []float64{1, 2}})
	_, covariance := gaussian.Entropic{Eps: 1}.Solve(gaussian.Normal{Cov: mat.NewSymDense(1, []float64{-1})},
		gaussian.Normal{Cov: mat.NewSymDense(1, []float64{1})})
	if !errors.Is(err, ot.ErrWeights) || !errors.Is(unequal, ot.ErrWeights) || !errors.Is(covariance, ot.ErrParameter) {
		t.Errorf("%v, %v, %v: want kinds of package ot", err, unequal, covariance)
	}
}
