package ot_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/ottest"
)

// inFloat32 solves every problem in float32.
type inFloat32 struct{ ot.Solver }

func (s inFloat32) Solve(ctx context.Context, p ot.Problem) (*ot.Plan, error) {
	p.Geometry = ot.InFloat32(p.Geometry)
	return s.Solver.Solve(ctx, p)
}

// The laws hold in float32 to the same tolerance on the marginals, and for the rest to what rounding the costs allows.
func TestLawsInFloat32(t *testing.T) {
	for name, s := range map[string]ottest.New{
		"lbfgs":    func(eps, tol float64) ot.Solver { return inFloat32{ot.LBFGS{Eps: eps, Tol: tol}} },
		"newton":   func(eps, tol float64) ot.Solver { return inFloat32{ot.Newton{Eps: eps, Tol: tol}} },
		"sinkhorn": func(eps, tol float64) ot.Solver { return inFloat32{ot.Sinkhorn{Eps: eps, Tol: tol, MaxIter: 3000}} },
		"scaling":  func(eps, tol float64) ot.Solver { return inFloat32{ot.Scaling{Eps: eps, Tol: tol, MaxIter: 3000}} },
	} {
		t.Run(name, func(t *testing.T) { ottest.Float32Solver(t, s) })
	}
}

// float32Problem is one of points in the plane, d apart, with uneven weights.
func float32Problem(rng *rand.Rand, n, m int, apart float64) (x, y *mat.Dense, a, b []float64) {
	return cloud(rng, n, 2, 1, 0), cloud(rng, m, 2, 1, apart), simplex(rng, n), simplex(rng, m)
}

// Whatever Tol, the error that a plan reports is that of its float64 matrix, and Converged is not said above Tol. The
// plan of costs that are held differs from that of the unrounded ones by δ/ε at most; where costs of points are made
// on the way it does not.
func TestFloat32IsHonest(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 1))
	const n, m, shift = 150, 130, 3
	x, y, a, b := float32Problem(rng, n, m, shift)
	free := ot.MatrixFree(x, y, ot.SqEuclidean)
	c := ot.Cost(free)
	given := make([]float32, n*m)
	for k, v := range c.RawMatrix().Data {
		given[k] = float32(v)
	}
	for name, g := range map[string]ot.Geometry{
		"dense": ot.InFloat32(ot.Dense(c)), "given": ot.DenseFloat32(n, m, given), "free": ot.InFloat32(free),
		"held": ot.InFloat32(ot.MatrixFree(x, y, ot.Power(2))),
	} {
		for _, eps := range []float64{1, 0.05, 0.002} {
			want, err := ot.Newton{Eps: eps, Tol: 1e-11}.Solve(ctx, ot.Problem{Geometry: free, A: a, B: b})
			if err != nil || want.Status != ot.Converged {
				t.Fatal(err, want.Status)
			}
			for _, tol := range []float64{1e-3, 1e-6, 1e-9, 1e-13, 1e-18} {
				got, err := ot.LBFGS{Eps: eps, Tol: tol, MaxIter: 2000}.Solve(ctx, ot.Problem{Geometry: g, A: a, B: b})
				if err != nil {
					t.Fatal(err)
				}
				l1 := l1Error(got)
				if math.Abs(l1-got.MarginalL1) > 1e-12+1e-9*l1 {
					t.Errorf("%s, ε = %g, Tol = %g: reports an error of %g, has %g", name, eps, tol, got.MarginalL1, l1)
				}
				if (got.Status == ot.Converged) != (got.MarginalL1 <= tol) || tol == 1e-18 && got.Status == ot.Converged {
					t.Errorf("%s, ε = %g, Tol = %g: %v at %g", name, eps, tol, got.Status, got.MarginalL1)
				}
				if tol >= 1e-9 && got.Status != ot.Converged {
					t.Errorf("%s, ε = %g, Tol = %g: %v", name, eps, tol, got.Status)
				}
				if tol != 1e-9 {
					continue
				}
				allowed := 1e-7 // of the tolerance, at these conditions
				if name != "free" {
					allowed += 0x1p-24 * mat.Max(c) / eps
				}
				var d mat.Dense
				d.Sub(got.Matrix(), want.Matrix())
				if off := mat.Norm(mat.NewVecDense(n*m, d.RawMatrix().Data), 1); off > allowed {
					t.Errorf("%s, ε = %g: the plan is off by %g in L1, allowed is %g", name, eps, off, allowed)
				}
			}
		}
	}
}

// Clouds far from the origin, and gradients, lose nothing to float32 where costs are made on the way.
func TestFloat32Points(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 1))
	x, y, a, b := float32Problem(rng, 90, 70, 1)
	for _, m := range []*mat.Dense{x, y} {
		m.Apply(func(_, k int, v float64) float64 { return v + 4096*float64(k+1) }, m)
	}
	for _, kind := range []ot.PointCost{ot.SqEuclidean, ot.L1, ot.SqEuclideanL1(0.5)} {
		g := ot.MatrixFree(x, y, kind)
		want, err := ot.LBFGS{Eps: 0.1, Tol: 1e-12}.Solve(ctx, ot.Problem{Geometry: g, A: a, B: b})
		if err != nil || want.Status != ot.Converged {
			t.Fatal(err, want.Status)
		}
		var steps int
		got, err := ot.LBFGS{Eps: 0.1, Tol: 1e-12, Trace: func(ot.Step) error { steps++; return nil }}.Solve(ctx, ot.Problem{Geometry: ot.InFloat32(g), A: a, B: b})
		if err != nil || got.Status != ot.Converged {
			t.Fatal(err, got.Status)
		}
		// A few evaluations are taken again in float64.
		if steps > want.Evaluations+want.Evaluations/4+5 {
			t.Errorf("%v: %d evaluations, float64 takes %d", kind, steps, want.Evaluations)
		}
		var d mat.Dense
		d.Sub(must(t)(got.GradX()), must(t)(want.GradX()))
		if off := mat.Max(&d) - mat.Min(&d); !(off < 1e-9) {
			t.Errorf("%v: the gradient is off by %g", kind, off)
		}
		warm, err := ot.LBFGS{Eps: 0.1, Start: want.G}.Solve(ctx, ot.Problem{Geometry: ot.InFloat32(g), A: a, B: b})
		if err != nil || warm.Status != ot.Converged || warm.Evaluations > 6 {
			t.Errorf("%v: from its own solution %v after %d evaluations, %v", kind, warm.Status, warm.Evaluations, err)
		}
	}
}

func TestFloat32Refusals(t *testing.T) {
	for name, g := range map[string]ot.Geometry{
		"nil": ot.InFloat32(nil), "of a bad one": ot.InFloat32(ot.Dense(nil)), "short": ot.DenseFloat32(2, 3, make([]float32, 5)),
		"empty": ot.DenseFloat32(0, 0, nil),
	} {
		if _, err := (ot.LBFGS{Eps: 1}).Solve(ctx, ot.Problem{Geometry: g}); !errors.Is(err, ot.ErrShape) {
			t.Errorf("%s: %v, want ErrShape", name, err)
		}
	}
	for name, g := range map[string]ot.Geometry{
		"NaN":      ot.DenseFloat32(1, 2, []float32{0, float32(math.NaN())}),
		"overflow": ot.InFloat32(ot.Dense(mat.NewDense(1, 2, []float64{0, 1e39}))),
	} {
		if _, err := (ot.LBFGS{Eps: 1}).Solve(ctx, ot.Problem{Geometry: g}); !errors.Is(err, ot.ErrCost) {
			t.Errorf("%s: %v, want ErrCost", name, err)
		}
	}
}

// BenchmarkFloat32 compares float32 with float64: costs held and made on the way, also with more points than a kernel
// may be stored for.
func BenchmarkFloat32(b *testing.B) {
	for _, n := range []int{1024, 4096, 6000} {
		rng := rand.New(rand.NewPCG(1, 1))
		x, y := cloud(rng, n, 2, 1, 0), cloud(rng, n, 2, 1, 1)
		free := ot.MatrixFree(x, y, ot.SqEuclidean)
		run := func(name string, g ot.Geometry, bytes int) {
			for _, tol := range []float64{1e-3, 1e-6} {
				b.Run(fmt.Sprintf("%s/n=%d/tol=%g", name, n, tol), func(b *testing.B) {
					solveLoop(b, ot.LBFGS{Eps: .04, Tol: tol, Workers: 1}, ot.Problem{Geometry: g})
					b.ReportMetric(float64(bytes)/(1<<20), "MiB-costs")
				})
			}
		}
		run("free64", free, 0)
		run("free32", ot.InFloat32(free), 0)
		held := ot.Dense(ot.Cost(free))
		run("held64", held, 8*n*n)
		run("held32", ot.InFloat32(held), 4*n*n)
	}
}
