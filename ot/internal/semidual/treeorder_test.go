package semidual

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/ot/cost"
	"coupling/ot/internal/geometry"
)

// A pattern leaves out less than its cut allows, also where the potentials have moved by its slack.
func TestPattern(t *testing.T) {
	if !checkPattern(t, 3, 2, 0) || !checkPattern(t, 4, 1, 0.5) {
		t.Error("no pattern")
	}
}

// checkPattern reports whether there was a pattern.
func checkPattern(t *testing.T, seed uint64, d int, mix float64) bool {
	t.Helper()
	rng := seeded(seed, 1)
	x, y := mat.NewDense(1050, d, nil), mat.NewDense(1040, d, nil)
	for _, c := range []*mat.Dense{x, y} {
		c.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, c)
		for i := 0; i < 1000; i += 50 { // some points are repeated, and some far from the rest
			c.SetRow(i+1, c.RawRowView(i))
			c.Set(i+2, 0, 4*c.At(i+2, 0))
		}
	}
	a := make([]float64, 1050)
	for i := range a {
		a[i] = rng.Float64() * float64(min(i%50, 1))
	}
	s := newTest(t, geometry.Points(x, y, cost.SqEuclideanL1(mix)), a, nil)
	s.Eps, s.Tol = 3e-4*s.Cost.Mean, 1e-6
	beta := s.Sort(s.Start(nil))
	s.StartStage(1e-6)
	s.Eval(beta, 1)
	for round := range 3 {
		s.Trees.pattern = nil
		pattern := s.findPattern(beta)
		if pattern == nil {
			return false
		}
		if share := float64(pattern.pairs) / float64(s.N*s.M); share > patternShare {
			t.Errorf("round %d: %g of the pairs", round, share)
		}
		for j := range beta {
			beta[j] += s.Eps * patternSlack * 0.49 * (2*rng.Float64() - 1)
		}
		if s.findPattern(beta) != pattern {
			t.Error("a new pattern within the slack")
		}
		got := pattern.Eval(s, beta)
		col := slices.Clone(s.Col)
		want := s.evalAll(beta, false)
		if math.Abs(got-want) > 1e-9+1e-10*want {
			t.Errorf("round %d: L1 error %g by the pattern, %g in full", round, got, want)
		}
		for j, c := range col {
			if math.Abs(c-s.Col[j]) > 1e-9*(s.Col[j]+s.B[j]) {
				t.Errorf("round %d: column %d: %g by the pattern, %g in full", round, j, c, s.Col[j])
			}
		}
		s.Sinkhorn(beta, 1)
		s.Trees.pattern = nil
		s.Eval(beta, 1)
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
