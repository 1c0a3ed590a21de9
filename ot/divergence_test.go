package ot_test

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/cost"
)

// semiDebiased is DP-Sinkhorn's loss 2 OT(X,Y) − OT(X,Z), where Z is X without its first k points
// followed by k fresh ones, with its gradients.
type semiDebiased struct {
	Value, XY, XZ float64
	X, Fresh      *mat.Dense
}

func evalSemiDebiased(of *ot.Objective, x, fresh, y *mat.Dense, c cost.PointCost) semiDebiased {
	n, d := x.Dims()
	z, k := mat.DenseCopyOf(x), 0
	if fresh != nil {
		k, _ = fresh.Dims()
	}
	for i := range n {
		if i < n-k {
			z.SetRow(i, x.RawRowView(i+k))
		} else {
			z.SetRow(i, fresh.RawRowView(i-(n-k)))
		}
	}
	xy := must.Get(of.Eval(ctx, x, y, nil, nil, c, ot.ByX))
	first := mat.DenseCopyOf(xy.X) // the next Eval overwrites it
	xz := must.Get(of.Eval(ctx, x, z, nil, nil, c, ot.ByX|ot.ByY))
	out := semiDebiased{Value: 2*xy.Value - xz.Value, XY: xy.Value, XZ: xz.Value, X: mat.NewDense(n, d, nil)}
	out.X.Scale(2, first)
	out.X.Sub(out.X, xz.X)
	xz.Y.Scale(-1, xz.Y)
	for i := k; i < n; i++ {
		row := out.X.RawRowView(i)
		for j, v := range xz.Y.RawRowView(i - k) {
			row[j] += v
		}
	}
	if k > 0 {
		out.Fresh = mat.DenseCopyOf(xz.Y.Slice(n-k, n, 0, d))
	}
	return out
}

// The gradient of every debiased loss is that of its value.
func TestDivergenceGradients(t *testing.T) {
	rng := seeded(4, 1)
	x, y, fresh := cloud(rng, 5, 2, 1, 0), cloud(rng, 4, 2, 1, 1), cloud(rng, 2, 2, 1, 0)
	a, b := simplex(rng, 5), simplex(rng, 4)
	for _, loss := range []ot.Loss{ot.Sharp, ot.RegKL} {
		of := ot.Objective{Solver: ot.Newton{Eps: 0.4, Tol: 1e-14}, Loss: loss}
		pair := ot.Divergence{Of: of}
		div := func() *ot.Divergences {
			d := must.Get(pair.Eval(ctx, x, y, a, b, ot.SqEuclidean, ot.ByX|ot.ByY))
			d.X, d.Y = mat.DenseCopyOf(d.X), mat.DenseCopyOf(d.Y) // the next Eval overwrites them
			return d
		}
		semi := func() semiDebiased { return evalSemiDebiased(&of, x, fresh, y, ot.SqEuclidean) }
		d, s := div(), semi()
		if loss == ot.RegKL && d.Value < 0 || d.Status == ot.IterationLimit {
			t.Errorf("%v: divergence %v, %v", loss, d.Value, d.Status)
		}
		value, semiValue := func() float64 { return div().Value }, func() float64 { return semi().Value }
		pointDifferences(t, "x of the divergence", x, d.X, 1, value)
		pointDifferences(t, "y of the divergence", y, d.Y, 1, value)
		pointDifferences(t, "x, semi-debiased", x, s.X, 1, semiValue)
		pointDifferences(t, "fresh, semi-debiased", fresh, s.Fresh, 1, semiValue)
	}
	for _, loss := range []ot.Loss{ot.Sharp, ot.RegKL, ot.RegEntropy} {
		of := ot.Divergence{Of: ot.Objective{Solver: ot.Newton{Eps: 0.4, Tol: 1e-14}, Loss: loss}}
		d := must.Get(of.Eval(ctx, x, y, a, b, ot.SqEuclidean, ot.ByWeights))
		for name, w := range map[string]struct{ at, grad, dir []float64 }{
			"divergence by a": {a, slices.Clone(d.A), change(rng, a)},
			"divergence by b": {b, slices.Clone(d.B), change(rng, b)},
		} {
			at := slices.Clone(w.at)
			fd := central(func(h float64) float64 {
				copy(w.at, plus(at, h, w.dir))
				e := must.Get(of.Eval(ctx, x, y, a, b, ot.SqEuclidean, 0))
				return e.Value
			})
			copy(w.at, at)
			var got float64
			for i, v := range w.dir {
				got += v * w.grad[i]
			}
			if math.Abs(got-fd) > fdTol {
				t.Errorf("%v, %s: %v along %v, finite differences say %v", loss, name, got, w.dir, fd)
			}
		}
	}
	refused(t, "Divergence without Of", failure(new(ot.Divergence).Eval(ctx, x, y, nil, nil, ot.L1, 0)),
		ot.ErrParameter)
}

// Warm starts and memory used again change nothing but the way there.
func TestObjectiveAgain(t *testing.T) {
	rng := seeded(6, 1)
	x, y := cloud(rng, 40, 6, 1, 0), cloud(rng, 30, 6, 1, 1)
	warm := ot.Divergence{Of: ot.Objective{Solver: ot.LBFGS{Eps: 0.4, Tol: 1e-12}, Loss: ot.Sharp, Warm: true}}
	for step := range 4 {
		x.Set(step, 0, x.At(step, 0)+0.1)
		cold := ot.Divergence{Of: ot.Objective{Solver: ot.LBFGS{Eps: 0.4, Tol: 1e-12}, Loss: ot.Sharp}}
		want := must.Get(cold.Eval(ctx, x, y, nil, nil, ot.SqEuclidean, ot.ByX|ot.ByY))
		got := must.Get(warm.Eval(ctx, x, y, nil, nil, ot.SqEuclidean, ot.ByX|ot.ByY))
		if math.Abs(got.Value-want.Value) > 1e-11 || !mat.EqualApprox(got.X, want.X, 1e-10) ||
			!mat.EqualApprox(got.Y, want.Y, 1e-10) {
			t.Errorf("step %d: %v, want %v", step, got.Value, want.Value)
		}
		if step > 0 && got.AB.Plan.Evaluations > want.AB.Plan.Evaluations {
			t.Errorf("step %d: a warm start took %d evaluations, a cold one %d", step, got.AB.Plan.Evaluations,
				want.AB.Plan.Evaluations)
		}
	}
}

// The transport of a measure to itself is found as fast as it is symmetric, and is that of the general problem.
func TestSymmetric(t *testing.T) {
	rng := seeded(8, 1)
	x := cloud(rng, 60, 3, 1, 0)
	a := simplex(rng, 60)
	for _, c := range []cost.PointCost{ot.SqEuclidean, ot.L1, ot.Euclidean, cost.Power(3)} {
		for _, eps := range []float64{1, 0.1, 0.01} {
			self := solved(ot.LBFGS{Eps: eps, Tol: 1e-12}, weighted(ot.Points(x, x, c), a, a))
			want := solved(ot.LBFGS{Eps: eps, Tol: 1e-12},
				weighted(ot.Points(x, mat.DenseCopyOf(x), c), a, a))
			if self.Status != ot.Converged || !mat.EqualApprox(self.Matrix(), want.Matrix(), 1e-12) {
				t.Errorf("%v at ε = %g: %v, or not the same plan", c, eps, self.Status)
			}
			t.Logf("%v at ε = %g: %d evaluations, %d as two clouds", c, eps, self.Evaluations, want.Evaluations)
		}
	}
}

// A step after the first allocates headers, a few numbers for each span, and what starts
// goroutines: 8 to 26 kB in all. The least thing that grows with n or d is 16 kB at n = 2048, and
// 32 kB at n = 100 and d = 40.
func TestStepsReuseMemory(t *testing.T) {
	for _, size := range []struct {
		n, d int
		c    cost.PointCost
	}{{100, 40, cost.SqEuclideanL1(0.5)}, {200, 500, ot.Cosine}, {2048, 2, ot.SqEuclidean}} {
		rng := seeded(3, 4)
		x, y := cloud(rng, size.n, size.d, 1, 0), cloud(rng, size.n, size.d, 1, 0.5)
		eps := 0.1 * mat.Sum(ot.Cost(ot.Points(x, y, size.c))) / float64(size.n*size.n)
		for _, loss := range []ot.Loss{ot.RegKL, ot.Sharp} {
			of := ot.Objective{Solver: ot.LBFGS{Eps: eps, Tol: 1e-6, Control: ot.Control{Workers: 2}}, Loss: loss}
			// a goroutine that had nothing to do in earlier steps makes its memory in a later one
			least := uint64(math.MaxUint64)
			for range 5 {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				if _, err := of.Eval(ctx, x, y, nil, nil, size.c, ot.ByX|ot.ByY|ot.ByWeights); err != nil {
					t.Fatal(err)
				}
				runtime.ReadMemStats(&after)
				least = min(least, after.TotalAlloc-before.TotalAlloc)
			}
			t.Log(size, loss, least)
			if least > 32<<10 {
				t.Errorf("%v, n = %d, d = %d: a step allocates %d bytes", loss, size.n, size.d, least)
			}
		}
	}
}

// Memory that problems of other sizes, costs, ε and solvers have left behind changes no bit.
func TestReusedMemory(t *testing.T) {
	var used ot.Objective
	rng := seeded(9, 1)
	for _, size := range [][2]int{{5, 7}, {140, 150}, {40, 30}} {
		for _, c := range []cost.PointCost{ot.SqEuclidean, cost.SqEuclideanL1(0.5), ot.Cosine} {
			x, y := cloud(rng, size[0], 6, 1, 0), cloud(rng, size[1], 6, 1, 1)
			a, b := append(simplex(rng, size[0]-1), 0), append([]float64{0}, simplex(rng, size[1]-1)...)
			for _, solver := range []ot.Solver{ot.LBFGS{Eps: 0.5, Tol: 1e-7}, ot.LBFGS{Eps: 0.05, Tol: 1e-7},
				ot.Newton{Eps: 0.1, Tol: 1e-11}, ot.Sinkhorn{Eps: 0.5, Tol: 1e-3}} {
				for _, loss := range []ot.Loss{ot.Sharp, ot.RegKL} {
					used.Solver, used.Loss = solver, loss
					fresh := ot.Objective{Solver: solver, Loss: loss}
					by := ot.ByX | ot.ByY | ot.ByWeights
					got := must.Get(used.Eval(ctx, x, y, a, b, c, by))
					want := must.Get(fresh.Eval(ctx, x, y, a, b, c, by))
					if got.Value != want.Value || !mat.Equal(got.X, want.X) || !mat.Equal(got.Y, want.Y) ||
						!slices.Equal(got.A, want.A) ||
						!slices.Equal(got.B, want.B) || !slices.Equal(got.Plan.Alpha, want.Plan.Alpha) {
						t.Errorf("%v, %v, %v, %v: %v, with memory of its own %v", size, c, solver, loss, got.Value,
							want.Value)
					}
				}
			}
		}
	}
}
