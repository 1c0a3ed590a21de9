package ot

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/ot/cost"
)

// smallEps returns a problem that is sorted at the ε returned: clouds of n and m points with some
// repeated, some far from the rest, and weights of which some are 0.
func smallEps(rng *rand.Rand, n, m, d int, kind PointCost) (Problem, float64) {
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
	return p, 0.003 * in.cost.Mean
}

// In the order of the trees a solve gives the plan that it gives over all pairs, with the same bits
// for any number of workers.
func TestSorted(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		n, m, d int
		kind    PointCost
		tol     float64
	}{{1100, 1000, 2, SqEuclidean, 1e-9}, {1000, 1100, 3, SqEuclideanL1(0.5), 1e-6}, {1040, 1040, 1, L1, 1e-6}, {1030, 1030, 2, SqEuclidean, 1e-12}} {
		t.Run(fmt.Sprintf("%d×%d/d=%d/%v/%g", c.n, c.m, c.d, c.kind, c.tol), func(t *testing.T) {
			p, eps := smallEps(rand.New(rand.NewPCG(5, uint64(c.n))), c.n, c.m, c.d, c.kind)
			got, err := LBFGS{Eps: eps, Tol: c.tol, Workers: 1}.Solve(ctx, p)
			if err != nil {
				t.Fatal(err)
			}
			all := p
			all.Geometry = Dense(Cost(p.Geometry))
			want, err := LBFGS{Eps: eps, Tol: c.tol, Workers: 1}.Solve(ctx, all)
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
			three, err := LBFGS{Eps: eps, Tol: c.tol, Workers: 3}.Solve(ctx, p)
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

// A pattern leaves out less than its cut allows, also where the potentials have moved by its slack.
func TestPattern(t *testing.T) {
	if !checkPattern(t, 3, 2, 0) || !checkPattern(t, 4, 1, 0.5) {
		t.Error("no pattern")
	}
}

// checkPattern reports whether there was a pattern.
func checkPattern(t *testing.T, seed uint64, d int, mix float64) bool {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	p, eps := smallEps(rng, 1050, 1040, d, cost.SqEuclideanL1(mix))
	r, err := controls{Eps: eps, Tol: 1e-6, Workers: 1}.begin(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	s := r.s
	s.eps = eps / 10
	s.startStage(1e-6)
	s.eval(r.beta, 1)
	for round := range 3 {
		s.trees.pattern = nil
		pattern := s.findPattern(r.beta)
		if pattern == nil {
			return false
		}
		if share := float64(pattern.pairs) / float64(s.n*s.m); share > patternShare {
			t.Errorf("round %d: %g of the pairs", round, share)
		}
		for j := range r.beta {
			r.beta[j] += s.eps * patternSlack * 0.49 * (2*rng.Float64() - 1)
		}
		if s.findPattern(r.beta) != pattern {
			t.Error("a new pattern within the slack")
		}
		got := pattern.eval(s, r.beta)
		col := append([]float64(nil), s.col...)
		want := s.evalAll(r.beta, false)
		if math.Abs(got-want) > 1e-9+1e-10*want {
			t.Errorf("round %d: L1 error %g by the pattern, %g in full", round, got, want)
		}
		for j, c := range col {
			if math.Abs(c-s.col[j]) > 1e-9*(s.col[j]+s.b[j]) {
				t.Errorf("round %d: column %d: %g by the pattern, %g in full", round, j, c, s.col[j])
			}
		}
		s.sinkhorn(r.beta, 1)
		s.trees.pattern = nil
		s.eval(r.beta, 1)
	}
	return true
}

// FuzzSorted compares evaluations over a pattern with evaluations over all pairs.
func FuzzSorted(f *testing.F) {
	f.Add(uint64(1), uint8(2), 0.0)
	f.Add(uint64(2), uint8(3), 1.5)
	f.Fuzz(func(t *testing.T, seed uint64, d uint8, mix float64) {
		if !(mix >= 0 && mix <= 10) {
			t.Skip()
		}
		checkPattern(t, seed, int(d)%maxSortedDim+1, mix)
	})
}
