package solve

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"coupling/lab/device"
	"coupling/lab/device/devicetest"
	"coupling/lab/must"
	"coupling/ot/cost"
	"coupling/ot/internal/derivative"
	"coupling/ot/internal/geometry"
	"coupling/ot/internal/laplacian"
	"coupling/ot/internal/ondevice"
	"coupling/ot/internal/semidual"
)

func testProblem(rng *rand.Rand, n, m int) Problem {
	c := mat.NewDense(n, m, nil)
	c.Apply(func(i, j int, _ float64) float64 {
		d := float64(i)/float64(n) - float64(j)/float64(m) + 0.05*rng.NormFloat64()
		return d * d
	}, c)
	return Problem{Geometry: cost.Dense(c)}
}

// Below what float32 can do a solve goes on in float64, to the tolerance and not a digit less.
func TestSingleThenDouble(t *testing.T) {
	p := testProblem(rand.New(rand.NewPCG(13, 1)), 120, 100)
	for _, tol := range []float64{1e-6, 1e-9, 1e-12} {
		var single, double bool
		r := must.Get(beginLBFGS(t.Context(), p, Control{Eps: 0.01, Tol: tol, Workers: 1}, 0))
		r.Trace = func(Step) error {
			if k := r.s.Kernel; k != nil && k.Eps != 0 {
				single, double = single || k.Single, double || !k.Single
			}
			return nil
		}
		must.Do(r.anneal(r.stage))
		if r.status != Converged || r.err > tol || !single || double != (tol < semidual.SingleTol) {
			t.Errorf("Tol = %g: %v with error %g, in float32 %v, in float64 %v", tol, r.status, r.err, single, double)
		}
	}
}

// Conjugate gradients by passes over the plan give what they give on entries that are held.
func TestConjugateMatrixFree(t *testing.T) {
	p := testProblem(rand.New(rand.NewPCG(5, 1)), 30, 20)
	out := must.Get(Newton(t.Context(), p, Control{Eps: 0.05, Tol: 1e-14}, 0))
	var got [2][]float64
	for k, most := range []int{1 << 20, 100} {
		h, rhs := derivative.System(out.Plan, derivative.EntropyField, most)
		if (h.MatrixFree != nil) != (most == 100) {
			t.Fatalf("at most %d entries: held = %v", most, h.MatrixFree == nil)
		}
		got[k] = make([]float64, len(rhs))
		cg := laplacian.CG{Mul: h.Mul, Diag: h.Col}
		if _, resid, err := cg.Solve(t.Context(), got[k], rhs, 1e-14, 0, 1000); err != nil || resid > 1e-14 {
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
	sortSmall(t)
	for _, c := range []struct {
		n, m  int
		ratio float64 // ε over the mean cost
		trees bool
	}{{300, 300, 3e-4, false}, {900, 200, 3e-5, false}, {1100, 1100, 3e-4, true}} {
		if testing.Short() && c.trees {
			continue
		}
		p, eps := smallEps(rand.New(rand.NewPCG(5, uint64(c.n))), c.n, c.m, 2, cost.SqEuclidean)
		var one []float64
		for _, workers := range []int{1, 2, 5} {
			eps := c.ratio / 0.003 * eps
			q := must.Get(beginLBFGS(t.Context(), p, Control{Eps: eps, Tol: 1e-9, Workers: workers}, 0))
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
	p.Geometry, p.A, p.B = cost.Points(x, y, kind), a, b
	in, err := p.check(Control{Workers: 1})
	if err != nil {
		panic(err)
	}
	return p, 0.003 * in.Cost.Mean
}

// sortSmall puts problems smaller than those that trees are for in their order, until the test ends.
func sortSmall(t *testing.T) {
	before := minSorted
	minSorted = 1 << 20
	t.Cleanup(func() { minSorted = before })
}

// In the order of the trees a solve gives the plan that it gives over all pairs, with the same bits
// for any number of workers.
func TestSorted(t *testing.T) {
	sortSmall(t)
	for _, c := range []struct {
		n, m, d int
		kind    cost.PointCost
		tol     float64
	}{{1100, 1000, 2, cost.SqEuclidean, 1e-9}, {1000, 1100, 3, cost.SqEuclideanL1(0.5), 1e-6},
		{1040, 1040, 1, cost.L1, 1e-6},
		{1030, 1030, 2, cost.SqEuclidean, 1e-12}} {
		t.Run(fmt.Sprintf("%d×%d/d=%d/%v/%g", c.n, c.m, c.d, c.kind, c.tol), func(t *testing.T) {
			p, eps := smallEps(rand.New(rand.NewPCG(5, uint64(c.n))), c.n, c.m, c.d, c.kind)
			solved := func(p Problem, workers int) *Result {
				out, err := LBFGS(t.Context(), p, Control{Eps: eps, Tol: c.tol, Workers: workers}, 0)
				if err != nil || out.Status != Converged || out.MarginalL1 > c.tol {
					t.Fatal(out, err)
				}
				return out
			}
			got := solved(p, 1)
			all := p
			all.Geometry = cost.Dense(geometry.All(p.Geometry))
			want := solved(all, 1)
			// Both are within tol of the marginals; how far that lets plans differ depends on how
			// weakly the atoms are coupled.
			l1 := floats.Distance(got.Plan.Matrix().RawMatrix().Data, want.Plan.Matrix().RawMatrix().Data, 1)
			if l1 > 1e3*c.tol {
				t.Errorf("plans differ by %g in L1", l1)
			}
			value := func(r *Result) float64 { return kern.Dot(r.Plan.A, r.Plan.F) + kern.Dot(r.Plan.B, r.Plan.G) }
			if d := math.Abs(value(got) - value(want)); d > 1e2*c.tol*eps+1e-13*value(want) {
				t.Errorf("values differ by %g", d)
			}
			for j, v := range solved(p, 3).Plan.Beta {
				if got.Plan.Beta[j] != v {
					t.Fatalf("β[%d] = %v with one worker, %v with three", j, got.Plan.Beta[j], v)
				}
			}
		})
	}
}

// What half a step of Sinkhorn asks of a GPU, from calls of four and of eight: nothing crosses; and
// what a look at the error does.
func TestLaunches(t *testing.T) {
	dev := devicetest.Counting(t)
	const n = 4096
	single := device.Float32
	points := geometry.MatrixFree(mat.NewDense(n, 2, nil), mat.NewDense(n, 2, nil), cost.SqEuclidean)
	g := ondevice.New(dev, points, &single, nil)
	defer g.Close()
	r := must.Get(begin(t.Context(), Problem{Geometry: g}, Control{Eps: .1}))
	p := must.Get(r.dev.Reside(r.s, device.Float32, r.beta))
	defer p.Close()
	for step, w := range map[string]float64{"half-step": 1, "half-step, relaxed": 1.5} {
		asked := func(k int) device.Traffic {
			before := dev.Traffic()
			p.Steps(r.s, k, w)
			return dev.Traffic().Minus(before)
		}
		four, eight := asked(4), asked(8)
		more := eight.Minus(four)
		look := four.Minus(more)
		more.Launches, more.Kernels, more.Bytes = more.Launches/8, more.Kernels/8, more.Bytes/8
		devicetest.Hold(t, step, more)
		devicetest.Hold(t, "look at the error", look)
	}
}
