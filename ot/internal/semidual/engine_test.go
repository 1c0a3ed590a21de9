package semidual

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"coupling/lab/must"
	"coupling/ot/cost"
	"coupling/ot/internal/fault"
	"coupling/ot/internal/rows"
)

// seeded returns the generator of a seed and a stream.
func seeded(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// testCosts are those between two grids, with noise.
func testCosts(rng *rand.Rand, n, m int) cost.Geometry {
	c := mat.NewDense(n, m, nil)
	c.Apply(func(i, j int, _ float64) float64 {
		d := float64(i)/float64(n) - float64(j)/float64(m) + 0.05*rng.NormFloat64()
		return d * d
	}, c)
	return cost.Dense(c)
}

// newTest is the function of a problem, by one goroutine.
func newTest(tb testing.TB, g cost.Geometry, a, b []float64) *Function {
	tb.Helper()
	n, m := g.Dims()
	in := &Instance{G: g, N: n, M: m}
	for _, w := range []struct {
		to   *[]float64
		from []float64
		n    int
	}{{&in.A, a, n}, {&in.B, b, m}} {
		var err error
		if *w.to, _, err = rows.Weights(make([]float64, w.n), "w", w.from, "atoms", fault.OT); err != nil {
			tb.Fatal(err)
		}
	}
	must.Do(in.Scan(1))
	return New(in, 1)
}

// evalAll evaluates over all pairs at β, and stores the kernel if store.
func (s *Function) evalAll(beta []float64, store bool) float64 {
	var p allPairs
	if store {
		p.kernel = s.newKernel(beta)
	}
	s.Relax = 1
	err := p.Eval(s, beta)
	s.record(&p, beta)
	return err
}

// Spans cover the rows, once each and in order, are at most 64, and none is longer than twice its share or empty.
func TestSpans(t *testing.T) {
	for _, d := range [][2]int{{1, 1}, {3, 1 << 20}, {64, 1 << 14}, {65, 40000}, {255, 4096}, {2048, 2048},
		{4096, 4096}, {100_003, 7}, {1 << 20, 1}} {
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
	g := testCosts(seeded(1, 1), 90, 70)
	for _, eps := range []float64{1, 0.02} {
		var want *Function
		beta, from := make([]float64, 70), make([]float64, 70)
		for j := range beta {
			beta[j] = eps * math.Sin(float64(j))
			from[j] = 3 - 80*beta[j]
		}
		for _, way := range []struct {
			quotients, store bool
		}{{false, false}, {true, false}, {false, true}, {true, true}} {
			s := newTest(t, g, nil, nil)
			s.Eps, s.Tol, s.quotients = eps, 1e-9, way.quotients
			// The second evaluation uses the first's sums, or its kernel from some way off.
			s.evalAll(from, way.store)
			s.Eval(beta, 1)
			if s.Certified() == way.store {
				t.Fatalf("%+v: certified = %v", way, s.Certified())
			}
			if want == nil {
				want = s
				continue
			}
			for i := range s.Alpha {
				if d := math.Abs(s.Alpha[i] - want.Alpha[i]); d > 1e-13 {
					t.Errorf("ε = %g, %+v: α[%d] is off by %g", eps, way, i, d)
				}
			}
			for j := range s.Col {
				if d := math.Abs(s.Col[j] - want.Col[j]); d > 1e-14 {
					t.Errorf("ε = %g, %+v: column %d is off by %g", eps, way, j, d)
				}
			}
		}
	}
}

// A kernel in float32 changes α by no more than 2⁻²⁴ ε and the columns, in all, by no more than 2⁻²³, however far the
// potentials have moved within the limit; it is not kept where a column is all but missing from it.
func TestSingleKernel(t *testing.T) {
	rng := seeded(12, 1)
	g := testCosts(rng, 93, 71)
	a, b := make([]float64, 93), make([]float64, 71)
	for i := range a {
		a[i] = rng.ExpFloat64() / 93
	}
	a[4], a[92] = 0, 0
	copy(b, a)
	b[4] = floats.Sum(a[71:]) // the same total
	b[7], b[9] = 0, b[9]+b[7]
	for _, eps := range []float64{1, 0.02, 0.004} {
		s := newTest(t, g, a, b)
		s.Eps, s.Tol = eps, 1e-6
		s.StartStage(1e-6)
		from := s.Start(nil)
		beta := slices.Clone(from)
		for j := range beta {
			beta[j] += eps * (storedDrift32/2 - 0.1) * (2*rng.Float64() - 1)
		}
		s.evalAll(from, true)
		got := s.Eval(beta, 1)
		if s.Certified() || !s.Kernel.Single {
			t.Fatalf("ε = %g: certified %v, single %v", eps, s.Certified(), s.Kernel.Single)
		}
		alpha, col := slices.Clone(s.Alpha), slices.Clone(s.Col)
		s.Invalidate()
		want := s.evalAll(beta, false)
		var off float64
		for j := range col {
			off += math.Abs(col[j] - s.Col[j])
		}
		if off > 0x1p-23 || math.Abs(got-want) > 0x1p-23 || off == 0 {
			t.Errorf("ε = %g: columns are off by %g in all, the error is %g for %g", eps, off, got, want)
		}
		for i := range alpha {
			if a[i] > 0 && math.Abs(alpha[i]-s.Alpha[i]) > 0x1p-24*eps+1e-14 {
				t.Errorf("ε = %g: α[%d] is off by %g ε", eps, i, (alpha[i]-s.Alpha[i])/eps)
			}
		}
		far := slices.Clone(from)
		far[3] -= 80 * eps
		s.Eval(far, 1)
		s.Eval(far, 1)
		if !s.Certified() {
			t.Errorf("ε = %g: a kernel is used that has none of column 3, whose sum is %g", eps, s.Col[3])
		}
	}
}

// A list of the entries that matter stays good while potentials drift, and gives up where nearly all matter.
func TestActiveList(t *testing.T) {
	rng := seeded(2, 1)
	s := newTest(t, testCosts(rng, 200, 180), nil, nil)
	s.Eps, s.Tol, s.lists = 1e-4, 1e-9, true
	beta := s.Start(nil)
	s.Eval(beta, 1)
	if s.sparse == nil {
		t.Fatal("no list at ε = 1e-4")
	}
	moved := slices.Clone(beta)
	for j := range moved {
		moved[j] += s.Eps*sparseDrift*0.99*(2*rng.Float64()-1) + 5 // a common shift is free
	}
	if !s.sparse.usable(moved, s.Eps) {
		t.Fatal("the list is not usable within its drift")
	}
	got := s.Eval(moved, 1)
	col := slices.Clone(s.Col)
	s.sparse, s.lists = nil, false
	want := s.evalAll(moved, false)
	if math.Abs(got-want) > 1e-11 {
		t.Errorf("L1 error %g by the list, %g in full", got, want)
	}
	for j := range col {
		// Potentials near 5 are resolved to 9e-16, which is 9e-12 ε.
		if math.Abs(col[j]-s.Col[j]) > 1e-11*col[j] {
			t.Errorf("column %d: %g by the list, %g in full", j, col[j], s.Col[j])
		}
	}
	s.lists = true
	s.Eval(beta, 1)
	moved[3] += 100 * s.Eps
	if s.sparse.usable(moved, s.Eps) || s.sparse.usable(beta, 2*s.Eps) {
		t.Error("the list claims to be good beyond its drift or at another ε")
	}
	s.SetEps(beta, 10)
	s.Eval(beta, 1)
	if s.sparse != nil || s.refusedAt != 10 {
		t.Error("a list of nearly everything was kept at ε = 10")
	}
}

// Reduced costs are c − u − v rounded once: checked against big.Float.
func TestReducedRow(t *testing.T) {
	rng := seeded(4, 1)
	for range 1000 {
		u, v := 1e3*rng.NormFloat64(), 1e6*rng.NormFloat64()
		c := u + v + rng.NormFloat64()
		r := &ReducedCosts{of: cost.Dense(mat.NewDense(1, 1, []float64{c})), u: []float64{u}, v: []float64{v}}
		got := r.Row(0, make([]float64, 1))[0]
		exact := big.NewFloat(c)
		exact.SetPrec(200)
		exact.Sub(exact, big.NewFloat(u)).Sub(exact, big.NewFloat(v))
		if want, _ := exact.Float64(); math.Abs(got-want) > 2e-16*math.Abs(want) {
			t.Fatalf("%v − %v − %v = %v, want %v", c, u, v, got, want)
		}
	}
}

// Interpolation from the coarser grid keeps constants, and adding up, its adjoint, keeps masses.
func TestResample(t *testing.T) {
	rng := seeded(9, 3)
	for _, shape := range [][]int{{8}, {7, 4}, {5, 6, 9}} {
		fine, coarse := 1, 1
		for _, n := range shape {
			fine, coarse = fine*n, coarse*((n+1)/2)
		}
		u, v, ones := make([]float64, fine), make([]float64, coarse), make([]float64, coarse)
		for i := range u {
			u[i] = rng.NormFloat64()
		}
		for i := range v {
			v[i], ones[i] = rng.NormFloat64(), 1
		}
		down := resample(u, shape, true)
		if a, b := floats.Dot(down, v), floats.Dot(u, resample(v, shape, false)); math.Abs(a-b) > 1e-12 {
			t.Errorf("%v: <down u, v> = %v, <u, up v> = %v", shape, a, b)
		}
		if a, b := floats.Sum(down), floats.Sum(u); math.Abs(a-b) > 1e-12 {
			t.Errorf("%v: mass %v, of %v", shape, a, b)
		}
		if up := resample(ones, shape, false); floats.Max(up) != 1 || floats.Min(up) != 1 {
			t.Errorf("%v: a constant 1 is from %v to %v", shape, floats.Min(up), floats.Max(up))
		}
	}
}
