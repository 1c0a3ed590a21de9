package ot

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"coupling/ot/cost"
	"coupling/ot/internal/derivative"
	"coupling/ot/internal/laplacian"
	"coupling/ot/internal/semidual"

	"gonum.org/v1/gonum/mat"
)

func testProblem(rng *rand.Rand, n, m int) Problem {
	c := mat.NewDense(n, m, nil)
	c.Apply(func(i, j int, _ float64) float64 {
		d := float64(i)/float64(n) - float64(j)/float64(m) + 0.05*rng.NormFloat64()
		return d * d
	}, c)
	return Problem{Geometry: Dense(c)}
}

// Below what float32 can do a solve goes on in float64, to the tolerance and not a digit less.
func TestSingleThenDouble(t *testing.T) {
	p := testProblem(rand.New(rand.NewPCG(13, 1)), 120, 100)
	for _, tol := range []float64{1e-6, 1e-9, 1e-12} {
		var single, double bool
		r, err := LBFGS{Eps: 0.01, Tol: tol, Control: Control{Workers: 1}}.quasiNewton(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		r.Trace = func(Step) error {
			if k := r.s.Kernel; k != nil && k.Eps != 0 {
				single, double = single || k.Single, double || !k.Single
			}
			return nil
		}
		if err := r.anneal(r.stage); err != nil {
			t.Fatal(err)
		}
		if r.status != Converged || r.err > tol || !single || double != (tol < semidual.SingleTol) {
			t.Errorf("Tol = %g: %v with error %g, in float32 %v, in float64 %v", tol, r.status, r.err, single, double)
		}
	}
}

// turnsOff is a context that has ended when it is asked for the third time.
type turnsOff struct {
	context.Context
	asked int
}

func (c *turnsOff) Err() error {
	if c.asked++; c.asked > 2 {
		return context.Canceled
	}
	return nil
}

// A factorisation is given up when the context ends, not after.
func TestCancelElimination(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	c := mat.NewDense(200, 200, nil)
	c.Apply(func(_, _ int, _ float64) float64 { return rng.Float64() }, c)
	plan, err := Solve(context.Background(), Problem{Geometry: Dense(c)}, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	ctx := &turnsOff{Context: context.Background()}
	if _, err := (Backward{Method: Eliminate}).Gradient(ctx, plan, Sharp); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v after %d looks at the context, want context.Canceled", err, ctx.asked)
	}
}

// Conjugate gradients by passes over the plan give what they give on entries that are held.
func TestConjugateMatrixFree(t *testing.T) {
	p := testProblem(rand.New(rand.NewPCG(5, 1)), 30, 20)
	plan, err := Newton{Eps: 0.05, Tol: 1e-14}.Solve(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	var got [2][]float64
	for k, most := range []int{1 << 20, 100} {
		h, rhs := derivative.System(plan.t, derivative.EntropyField, most)
		if (h.MatrixFree != nil) != (most == 100) {
			t.Fatalf("at most %d entries: held = %v", most, h.MatrixFree == nil)
		}
		got[k] = make([]float64, len(rhs))
		cg := laplacian.CG{Mul: h.Mul, Diag: h.Col}
		if _, resid, err := cg.Solve(context.Background(), got[k], rhs, 1e-14, 0, 1000); err != nil || resid > 1e-14 {
			t.Fatalf("residual %g, %v", resid, err)
		}
	}
	for j := range got[0] {
		if d := (got[0][j] - got[0][0]) - (got[1][j] - got[1][0]); math.Abs(d) > 1e-11 {
			t.Errorf("potential %d differs by %g", j, d)
		}
	}
}

// A solve whose L-BFGS hands over to Newton steps gives the same bits for any number of workers, by
// conjugate gradients, by elimination, and in the order of trees.
func TestNewtonStepsOfAnyWorkers(t *testing.T) {
	for _, c := range []struct {
		n, m  int
		ratio float64 // ε over the mean cost
		trees bool
	}{{300, 300, 3e-4, false}, {900, 200, 3e-5, false}, {1100, 1100, 3e-4, true}} {
		if testing.Short() && c.trees {
			continue
		}
		p, eps := smallEps(rand.New(rand.NewPCG(5, uint64(c.n))), c.n, c.m, 2, SqEuclidean)
		var one []float64
		for _, workers := range []int{1, 2, 5} {
			q, err := LBFGS{Eps: c.ratio / 0.003 * eps, Tol: 1e-9,
				Control: Control{Workers: workers}}.quasiNewton(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(q.coarseStart(), q.anneal(q.stage)); err != nil || q.status != Converged {
				t.Fatal(q.status, err)
			}
			if q.rescues == 0 || len(q.s.Rows.Spans) < 2 || (q.s.Trees != nil) != c.trees {
				t.Fatalf("n = %d: %d times Newton steps, %d spans, sorted %v: the test tests nothing", c.n, q.rescues,
					len(q.s.Rows.Spans), q.s.Trees != nil)
			}
			if one == nil {
				one = q.beta
			} else if !slices.Equal(q.beta, one) {
				t.Errorf("n = %d: β differs between 1 and %d workers", c.n, workers)
			}
		}
	}
}

// smallEps returns a problem that is sorted at the ε returned: clouds of n and m points with some
// repeated, some far from the rest, and weights of which some are 0.
func smallEps(rng *rand.Rand, n, m, d int, kind cost.PointCost) (Problem, float64) {
	cloud := func(n int) (*mat.Dense, []float64) {
		x, w := mat.NewDense(n, d, nil), make([]float64, n)
		for i := range n {
			for k := range d {
				x.Set(i, k, rng.NormFloat64())
			}
			switch w[i] = rng.Float64() + 0.01; i % 50 {
			case 1:
				x.SetRow(i, x.RawRowView(i-1))
			case 2:
				x.Set(i, 0, x.At(i, 0)*4)
			case 3:
				w[i] = 0
			}
		}
		return x, w
	}
	p := Problem{}
	x, a := cloud(n)
	y, b := cloud(m)
	sum := func(w []float64) (s float64) {
		for _, v := range w {
			s += v
		}
		return s
	}
	for j, scale := 0, sum(a)/sum(b); j < m; j++ {
		b[j] *= scale
	}
	p.Geometry, p.A, p.B = Points(x, y, kind), a, b
	in, err := p.check(1)
	if err != nil {
		panic(err)
	}
	return p, 0.003 * in.Cost.Mean
}

// In the order of the trees a solve gives the plan that it gives over all pairs, with the same bits
// for any number of workers.
func TestSorted(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		n, m, d int
		kind    cost.PointCost
		tol     float64
	}{{1100, 1000, 2, SqEuclidean, 1e-9}, {1000, 1100, 3, cost.SqEuclideanL1(0.5), 1e-6}, {1040, 1040, 1, L1, 1e-6},
		{1030, 1030, 2, SqEuclidean, 1e-12}} {
		t.Run(fmt.Sprintf("%d×%d/d=%d/%v/%g", c.n, c.m, c.d, c.kind, c.tol), func(t *testing.T) {
			p, eps := smallEps(rand.New(rand.NewPCG(5, uint64(c.n))), c.n, c.m, c.d, c.kind)
			got, err := LBFGS{Eps: eps, Tol: c.tol, Control: Control{Workers: 1}}.Solve(ctx, p)
			if err != nil {
				t.Fatal(err)
			}
			all := p
			all.Geometry = Dense(Cost(p.Geometry))
			want, err := LBFGS{Eps: eps, Tol: c.tol, Control: Control{Workers: 1}}.Solve(ctx, all)
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != Converged || want.Status != Converged || got.MarginalL1 > c.tol {
				t.Fatalf("%v and %v", got, want)
			}
			var l1 float64
			gotT, wantT := got.Matrix().RawMatrix().Data, want.Matrix().RawMatrix().Data
			for k, v := range gotT {
				l1 += math.Abs(v - wantT[k])
			}
			// Both are within tol of the marginals; how far that lets plans differ depends on how
			// weakly the atoms are coupled.
			if l1 > 1e3*c.tol {
				t.Errorf("plans differ by %g in L1", l1)
			}
			if d := math.Abs(got.RegKL() - want.RegKL()); d > 1e2*c.tol*eps+1e-13*want.RegKL() {
				t.Errorf("values differ by %g", d)
			}
			three, err := LBFGS{Eps: eps, Tol: c.tol, Control: Control{Workers: 3}}.Solve(ctx, p)
			if err != nil {
				t.Fatal(err)
			}
			for j, v := range got.Beta {
				if three.Beta[j] != v {
					t.Fatalf("β[%d] = %v with one worker, %v with three", j, v, three.Beta[j])
				}
			}
		})
	}
}
