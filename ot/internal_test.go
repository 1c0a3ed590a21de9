package ot

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"coupling/ot/internal/laplacian"
	"coupling/ot/internal/rows"
)

// evalAll evaluates over all pairs at β, and stores the kernel if store.
func (s *semidual) evalAll(beta []float64, store bool) float64 {
	var p allPairs
	if store {
		p.kernel = s.newKernel(beta)
	}
	s.relax = 1
	err := p.eval(s, beta)
	s.record(&p, beta)
	return err
}

func testProblem(rng *rand.Rand, n, m int) Problem {
	c := mat.NewDense(n, m, nil)
	c.Apply(func(i, j int, _ float64) float64 {
		d := float64(i)/float64(n) - float64(j)/float64(m) + 0.05*rng.NormFloat64()
		return d * d
	}, c)
	return Problem{Geometry: Dense(c)}
}

// Spans cover the rows, once each and in order, are at most 64, and none is longer than twice its share or empty.
func TestSpans(t *testing.T) {
	for _, d := range [][2]int{{1, 1}, {3, 1 << 20}, {64, 1 << 14}, {65, 40000}, {255, 4096}, {2048, 2048}, {4096, 4096}, {100_003, 7}, {1 << 20, 1}} {
		n, m := d[0], d[1]
		out := rows.Spans(n, m)
		next := 0
		for _, r := range out {
			if r.Lo != next || r.Hi <= r.Lo || r.Hi-r.Lo > 2*n/len(out)+1 {
				t.Errorf("%d×%d: span [%d,%d) after %d, of %d spans", n, m, r.Lo, r.Hi, next, len(out))
			}
			next = r.Hi
		}
		if next != n || len(out) > 64 {
			t.Errorf("%d×%d: %d spans end at %d", n, m, len(out), next)
		}
	}
}

// Each way of making rows gives the potentials and the column sums of the plain one.
func TestRowPassesAgree(t *testing.T) {
	p := testProblem(rand.New(rand.NewPCG(1, 1)), 90, 70)
	for _, eps := range []float64{1, 0.02} {
		var want *semidual
		beta, from := make([]float64, 70), make([]float64, 70)
		for j := range beta {
			beta[j] = eps * math.Sin(float64(j))
			from[j] = 3 - 80*beta[j]
		}
		for _, way := range []struct {
			arithmetic arithmetic
			store      bool
		}{{byDifferences, false}, {byQuotients, false}, {byDifferences, true}, {byQuotients, true}} {
			in, err := p.check(1)
			if err != nil {
				t.Fatal(err)
			}
			s := newSemidual(in, 1)
			s.eps, s.tol, s.arithmetic = eps, 1e-9, way.arithmetic
			// The second evaluation uses the first's sums, or its kernel from some way off.
			s.evalAll(from, way.store)
			s.eval(beta, 1)
			if s.certified() == way.store {
				t.Fatalf("%+v: certified = %v", way, s.certified())
			}
			if want == nil {
				want = s
				continue
			}
			for i := range s.alpha {
				if d := math.Abs(s.alpha[i] - want.alpha[i]); d > 1e-13 {
					t.Errorf("ε = %g, %+v: α[%d] is off by %g", eps, way, i, d)
				}
			}
			for j := range s.col {
				if d := math.Abs(s.col[j] - want.col[j]); d > 1e-14 {
					t.Errorf("ε = %g, %+v: column %d is off by %g", eps, way, j, d)
				}
			}
		}
	}
}

// A kernel in float32 changes α by no more than 2⁻²⁴ ε and the columns, in all, by no more than 2⁻²³, however far the
// potentials have moved within the limit; it is not kept where a column is all but missing from it.
func TestSingleKernel(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	p := testProblem(rng, 93, 71)
	p.A, p.B = make([]float64, 93), make([]float64, 71)
	for i := range p.A {
		p.A[i] = rng.ExpFloat64() / 93
	}
	p.A[4], p.A[92] = 0, 0
	copy(p.B, p.A)
	p.B[4] = floats.Sum(p.A[71:]) // the same total
	p.B[7], p.B[9] = 0, p.B[9]+p.B[7]
	for _, eps := range []float64{1, 0.02, 0.004} {
		in, err := p.check(1)
		if err != nil {
			t.Fatal(err)
		}
		s := newSemidual(in, 1)
		s.eps, s.tol = eps, 1e-6
		s.startStage(1e-6)
		from := s.start(nil)
		beta := append([]float64(nil), from...)
		for j := range beta {
			beta[j] += eps * (storedDrift32/2 - 0.1) * (2*rng.Float64() - 1)
		}
		s.evalAll(from, true)
		got := s.eval(beta, 1)
		if s.certified() || !s.kernel.single {
			t.Fatalf("ε = %g: certified %v, single %v", eps, s.certified(), s.kernel.single)
		}
		alpha, col := append([]float64(nil), s.alpha...), append([]float64(nil), s.col...)
		s.invalidate()
		want := s.evalAll(beta, false)
		var off float64
		for j := range col {
			off += math.Abs(col[j] - s.col[j])
		}
		if off > 0x1p-23 || math.Abs(got-want) > 0x1p-23 || off == 0 {
			t.Errorf("ε = %g: columns are off by %g in all, the error is %g for %g", eps, off, got, want)
		}
		for i := range alpha {
			if p.A[i] > 0 && math.Abs(alpha[i]-s.alpha[i]) > 0x1p-24*eps+1e-14 {
				t.Errorf("ε = %g: α[%d] is off by %g ε", eps, i, (alpha[i]-s.alpha[i])/eps)
			}
		}
		far := append([]float64(nil), from...)
		far[3] -= 80 * eps
		s.eval(far, 1)
		s.eval(far, 1)
		if !s.certified() {
			t.Errorf("ε = %g: a kernel is used that has none of column 3, whose sum is %g", eps, s.col[3])
		}
	}
}

// Below what float32 can do a solve goes on in float64, to the tolerance and not a digit less.
func TestSingleThenDouble(t *testing.T) {
	p := testProblem(rand.New(rand.NewPCG(13, 1)), 120, 100)
	for _, tol := range []float64{1e-6, 1e-9, 1e-12} {
		var single, double bool
		r, err := LBFGS{Eps: 0.01, Tol: tol, Workers: 1}.begin(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		r.Trace = func(Step) error {
			if k := r.s.kernel; k != nil && k.eps != 0 {
				single, double = single || k.single, double || !k.single
			}
			return nil
		}
		if err := r.anneal(r.stage); err != nil {
			t.Fatal(err)
		}
		if r.status != Converged || r.err > tol || !single || double != (tol < singleTol) {
			t.Errorf("Tol = %g: %v with error %g, in float32 %v, in float64 %v", tol, r.status, r.err, single, double)
		}
	}
}

// A list of the entries that matter stays good while potentials drift, and gives up where nearly all matter.
func TestActiveList(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	in, err := testProblem(rng, 200, 180).check(1)
	if err != nil {
		t.Fatal(err)
	}
	s := newSemidual(in, 1)
	s.eps, s.tol, s.lists = 1e-4, 1e-9, true
	beta := s.start(nil)
	s.eval(beta, 1)
	if s.sparse == nil {
		t.Fatal("no list at ε = 1e-4")
	}
	moved := append([]float64(nil), beta...)
	for j := range moved {
		moved[j] += s.eps*sparseDrift*0.99*(2*rng.Float64()-1) + 5 // a common shift is free
	}
	if !s.sparse.usable(moved, s.eps) {
		t.Fatal("the list is not usable within its drift")
	}
	got := s.eval(moved, 1)
	col := append([]float64(nil), s.col...)
	s.sparse, s.lists = nil, false
	want := s.evalAll(moved, false)
	if math.Abs(got-want) > 1e-11 {
		t.Errorf("L1 error %g by the list, %g in full", got, want)
	}
	for j := range col {
		// Potentials near 5 are resolved to 9e-16, which is 9e-12 ε.
		if math.Abs(col[j]-s.col[j]) > 1e-11*col[j] {
			t.Errorf("column %d: %g by the list, %g in full", j, col[j], s.col[j])
		}
	}
	s.lists = true
	s.eval(beta, 1)
	moved[3] += 100 * s.eps
	if s.sparse.usable(moved, s.eps) || s.sparse.usable(beta, 2*s.eps) {
		t.Error("the list claims to be good beyond its drift or at another ε")
	}
	s.setEps(beta, 10)
	s.eval(beta, 1)
	if s.sparse != nil || s.refusedAt != 10 {
		t.Error("a list of nearly everything was kept at ε = 10")
	}
}

// Conjugate gradients solve what Cholesky does.
func TestConjugate(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	const n, m = 12, 9
	h := newHessian(n, m, nil)
	T, mass := make([]float64, n*m), make([]float64, n)
	for i := range n {
		for j := range m {
			x := rng.ExpFloat64() / (n * m)
			T[i*m+j] = x
			h.rows[i].Idx, h.rows[i].Val = append(h.rows[i].Idx, int32(j)), append(h.rows[i].Val, x)
			h.col[j] += x
			h.rows[i].Sum += x
			mass[i] += x
		}
	}
	v := make([]float64, n*m)
	for k := range v {
		v[k] = rng.NormFloat64()
	}
	net := &laplacian.Network{M: m, W: make([]float64, m*m), I: make([]float64, m*m)}
	if err := net.Assemble(context.Background(), T, v, mass); err != nil {
		t.Fatal(err)
	}
	want, ok := net.Cholesky()
	if !ok {
		t.Fatal("weak pivot in a well-conditioned network")
	}
	cg, resid, err := h.conjugate(context.Background(), net.Injections(), 1e-14, 0, 1000)
	if err != nil || resid > 1e-14 {
		t.Fatalf("conjugate gradients: residual %g, %v", resid, err)
	}
	for j := range m {
		if d := (cg[j] - cg[m-1]) - (want[j] - want[m-1]); math.Abs(d) > 1e-12 {
			t.Errorf("node %d: conjugate gradients and Cholesky differ by %g", j, d)
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

// Reduced costs are c − u − v rounded once: checked against big.Float.
func TestReducedRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for range 1000 {
		u, v := 1e3*rng.NormFloat64(), 1e6*rng.NormFloat64()
		c := u + v + rng.NormFloat64()
		r := &reducedCosts{of: Dense(mat.NewDense(1, 1, []float64{c})), u: []float64{u}, v: []float64{v}}
		got := r.Row(0, make([]float64, 1))[0]
		exact := big.NewFloat(c)
		exact.SetPrec(200)
		exact.Sub(exact, big.NewFloat(u)).Sub(exact, big.NewFloat(v))
		if want, _ := exact.Float64(); math.Abs(got-want) > 2e-16*math.Abs(want) {
			t.Fatalf("%v − %v − %v = %v, want %v", c, u, v, got, want)
		}
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
		h, rhs := plan.t.system(entropyField, most)
		if (h.matrixFree != nil) != (most == 100) {
			t.Fatalf("at most %d entries: held = %v", most, h.matrixFree == nil)
		}
		var resid float64
		if got[k], resid, err = h.conjugate(context.Background(), rhs, 1e-14, 0, 1000); err != nil || resid > 1e-14 {
			t.Fatalf("residual %g, %v", resid, err)
		}
	}
	for j := range got[0] {
		if d := (got[0][j] - got[0][0]) - (got[1][j] - got[1][0]); math.Abs(d) > 1e-11 {
			t.Errorf("potential %d differs by %g", j, d)
		}
	}
}

// conjugate solves D s = rhs to the residual tol, relative to rhs or to scale where that is larger.
func (h *hessian) conjugate(ctx context.Context, rhs []float64, tol, scale float64, most int) ([]float64, float64, error) {
	s := make([]float64, len(rhs))
	cg := laplacian.CG{Mul: h.mul, Diag: h.col}
	_, residual, err := cg.Solve(ctx, s, rhs, tol, scale, most)
	return s, residual, err
}

// A solve whose L-BFGS hands over to Newton steps gives the same bits for any number of workers, by conjugate gradients, by
// elimination, and in the order of trees.
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
			q, err := LBFGS{Eps: c.ratio / 0.003 * eps, Tol: 1e-9, Workers: workers}.begin(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(q.coarseStart(), q.anneal(q.stage)); err != nil || q.status != Converged {
				t.Fatal(q.status, err)
			}
			if q.rescues == 0 || len(q.s.sw.Spans) < 2 || (q.s.trees != nil) != c.trees {
				t.Fatalf("n = %d: %d times Newton steps, %d spans, sorted %v: the test tests nothing", c.n, q.rescues, len(q.s.sw.Spans), q.s.trees != nil)
			}
			if one == nil {
				one = q.beta
			} else if !slices.Equal(q.beta, one) {
				t.Errorf("n = %d: β differs between 1 and %d workers", c.n, workers)
			}
		}
	}
}
