package query_test

import (
	"math"
	"testing"

	"coupling/dp"
	"coupling/dp/query"
	"coupling/lab/must"
)

// For every relation and every release, the (ε, δ) that a session reports covers the worst pair of
// data sets, which is enumerated; that of a sum is attained, so the comparison is sharp.
func TestCostCoversTheWorstPair(t *testing.T) {
	releases := []struct {
		name  string
		delta float64
		tight bool
		ask   func(s *query.Session) error
		stick func(removed, inserted int, eps float64) float64 // hockey-stick divergence of the worst pair known
	}{
		{"count, Laplace", 0, false,
			func(s *query.Session) error { _, err := s.Count(t.Context(), 9, query.Noise{Scale: 2}); return err },
			func(r, i int, eps float64) float64 { return hockey(laplace(2), eps, r-i) }},
		{"sum, Laplace", 0, true, func(s *query.Session) error {
			_, err := s.Sum(t.Context(), []float64{1, 2}, -10, 10, 1, query.Noise{Scale: 10})
			return err
		}, func(r, i int, eps float64) float64 { return hockey(laplace(10), eps, 10*(r+i)) }},
		{"sum, Gauss", 1e-5, true, func(s *query.Session) error {
			_, err := s.Sum(t.Context(), []float64{1, 2}, -10, 10, 1, query.Noise{Sigma: 20})
			return err
		}, func(r, i int, eps float64) float64 { return hockey(gauss(20), eps, 10*(r+i)) }},
		{"histogram, Laplace", 0, true, func(s *query.Session) error {
			_, err := s.Histogram(t.Context(), []string{"a"}, []string{"a", "b"}, query.Noise{Scale: 3})
			return err
		}, func(r, i int, eps float64) float64 { return hockey(laplace(3), eps, r, -i) }},
		{"histogram, Gauss", 1e-5, false, func(s *query.Session) error {
			_, err := s.Histogram(t.Context(), []string{"a"}, []string{"a", "b"}, query.Noise{Sigma: 3})
			return err
		}, func(r, i int, eps float64) float64 { return hockey(gauss(3), eps, r, -i) }},
		{"unknown keys", .01, false, func(s *query.Session) error {
			_, err := s.UnknownKeys(t.Context(), []string{"a"}, 3, 1e-3)
			return err
		}, func(r, i int, eps float64) float64 { return shown(3, 1e-3, r, 0, 5, 5+i, eps) }},
		{"argmax", 0, false,
			func(s *query.Session) error { _, err := s.Argmax(t.Context(), []int{3, 1}, 2, false); return err },
			func(r, i int, eps float64) float64 { return flipped(2, r+i, -(r + i), eps) }},
		{"argmax, monotone", 0, false,
			func(s *query.Session) error { _, err := s.Argmax(t.Context(), []int{3, 1}, 2, true); return err },
			func(r, i int, eps float64) float64 { return flipped(2, r, -i, eps) }},
	}
	splits := map[dp.RelationKind]func(k int) [][2]int{ // removed and inserted records
		dp.AddRemove: func(k int) (out [][2]int) {
			for i := range k + 1 {
				out = append(out, [2]int{k - i, i})
			}
			return out
		},
		dp.Substitution: func(k int) [][2]int { return [][2]int{{k, k}} },
		dp.Exchange:     func(k int) [][2]int { return [][2]int{{k, k}} },
		dp.Insertion:    func(k int) [][2]int { return [][2]int{{0, k}} },
		dp.Removal:      func(k int) [][2]int { return [][2]int{{k, 0}} },
	}
	for _, c := range releases {
		for kind, split := range splits {
			for k := 1; k <= 2; k++ {
				relation := dp.Relation{Kind: kind, Group: k}
				s := session(1e6)
				s.Budget.Relation, s.Budget.Delta, s.KeysDelta = relation, c.delta, c.delta*.9
				if err := c.ask(s); err != nil {
					t.Fatalf("%s, %v: %v", c.name, relation, err)
				}
				g := must.Get(fixedCost(s))
				most, below := 0., 0.
				for _, n := range split(k) {
					most = max(most, c.stick(n[0], n[1], g.Epsilon))
					below = max(below, c.stick(n[0], n[1], g.Epsilon*(1-1e-6)))
				}
				if most > c.delta*(1+1e-9)+1e-13 {
					t.Errorf("%s, %v: %v, but the worst pair has δ = %v", c.name, relation, g, most)
				}
				if c.tight && below <= c.delta+1e-13 {
					t.Errorf("%s, %v: %v, but the worst pair has no more than ε·(1 − 1e-6)", c.name, relation, g)
				}
			}
		}
	}
}

func laplace(scale float64) func(k int) float64 {
	return func(k int) float64 { return math.Tanh(.5/scale) * math.Exp(-math.Abs(float64(k))/scale) }
}

func gauss(sigma float64) func(k int) float64 {
	total := 0.
	for k := -1000; k <= 1000; k++ {
		total += math.Exp(-float64(k*k) / (2 * sigma * sigma))
	}
	return func(k int) float64 { return math.Exp(-float64(k*k)/(2*sigma*sigma)) / total }
}

// hockey is the hockey-stick divergence of noise of a law from the same noise shifted, in one
// coordinate for each shift.
func hockey(law func(k int) float64, eps float64, shifts ...int) float64 {
	most := 600 / (2*len(shifts) - 1)
	p, q := []float64{1}, []float64{1}
	for _, s := range shifts {
		var here, there, nextP, nextQ []float64
		for k := -most; k <= most; k++ {
			here, there = append(here, law(k)), append(there, law(k-s))
		}
		for i := range p {
			for k := range here {
				nextP, nextQ = append(nextP, p[i]*here[k]), append(nextQ, q[i]*there[k])
			}
		}
		p, q = nextP, nextQ
	}
	return stick(p, q, eps)
}

// stick is Σ max(p − e^ε q, 0) without what rounding leaves of equal terms, the larger of both directions.
func stick(p, q []float64, eps float64) float64 {
	there, back := 0., 0.
	for i := range p {
		if d := p[i] - math.Exp(eps)*q[i]; d > 1e-12*p[i] {
			there += d
		}
		if d := q[i] - math.Exp(eps)*p[i]; d > 1e-12*q[i] {
			back += d
		}
	}
	return max(there, back)
}

// shown is the divergence of the released cells of two keys, whose counts are a and b in one data
// set and a2 and b2 in the other.
func shown(scale, delta float64, a, a2, b, b2 int, eps float64) float64 {
	rho := math.Exp(-1 / scale)
	least := 1
	for math.Pow(rho, float64(least))/(1+rho) > delta {
		least++
	}
	least++
	cells := func(count int) []float64 { // the first for no cell
		out := []float64{1}
		for v := least; v < 200 && count > 0; v++ {
			out = append(out, laplace(scale)(v-count))
			out[0] -= out[len(out)-1]
		}
		return append(out, make([]float64, 200-len(out))...)
	}
	ofA, ofA2, ofB, ofB2 := cells(a), cells(a2), cells(b), cells(b2)
	var p, q []float64
	for i := range ofA {
		for j := range ofB {
			p, q = append(p, ofA[i]*ofB[j]), append(q, ofA2[i]*ofB2[j])
		}
	}
	return stick(p, q, eps)
}

// flipped is the divergence of the winner of two scores by permute-and-flip, where the scores (top,
// top − 20) and others that differ by the moves are compared.
func flipped(scale float64, first, second int, eps float64) float64 {
	law := func(a, b int) []float64 {
		low := .5 * math.Exp(-math.Abs(float64(a-b))/scale)
		if a < b {
			return []float64{low, 1 - low}
		}
		return []float64{1 - low, low}
	}
	return stick(law(20, 0), law(20-first, -second), eps)
}
