package bounds

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// massTol is the largest error of the marginals of a coupling.
const massTol = 1e-9

// CouplingBound is Theorem 3.3 of SSKG: for any coupling Γ of the batch distributions p (under x)
// and q (under x′), and a jointly convex divergence Ψ (a hockey-stick divergence, or a Rényi moment
// ∫ m^α m′^(1−α)),
//
//	Ψ(M(x)‖M(x′)) ≤ Σ Γ(i, j)·cost(i, j),   cost(i, j) ≥ Ψ(B(y_i)‖B(y_j)).
//
// gamma is len(p)×len(q) with marginals p and q, as exact optimal transport returns it for these
// costs. Errors: marginals off by more than 1e-9, negative entries or costs. The result is rounded
// up.
func CouplingBound(gamma *mat.Dense, p, q []float64, cost func(i, j int) float64) (float64, error) {
	if gamma == nil {
		return 0, bad("gamma = nil: must be a coupling")
	}
	n, m := gamma.Dims()
	if n != len(p) || m != len(q) {
		return 0, bad("gamma is %d×%d: must be %d×%d", n, m, len(p), len(q))
	}
	var tuples []Tuple
	for i := range n {
		for j := range m {
			if g := gamma.At(i, j); g != 0 {
				tuples = append(tuples, Tuple{g, []int{i}, []int{j}})
			}
		}
	}
	one := func(p []float64) Partition { return Partition{[]float64{1}, [][]float64{p}} }
	return PartitionBound(one(p), one(q), tuples, func(y, y2 []int) (float64, error) { return cost(y[0], y2[0]), nil })
}

// Partition is a batch distribution cut into events: event i has probability Prob[i] > 0, and given it batch y has
// probability Given[i][y].
type Partition struct {
	Prob  []float64
	Given [][]float64
}

// Tuple is a point of positive probability of a simultaneous coupling: one batch for every event
// under x, and one for every event under x′.
type Tuple struct {
	Prob float64
	X    []int // X[i] is a batch of event i under x
	X2   []int // X2[j] is a batch of event j under x′
}

// PartitionBound is Theorem 3.4 of SSKG for finite partitions: for any coupling of all the conditional distributions
//
//	Ψ(M(x)‖M(x′)) ≤ Σ Γ(y, y′)·cost(y, y′),   cost ≥ Ψ(Σ_i P(A_i) B(y_i) ‖ Σ_j P(E_j) B(y′_j)),
//
// with the cost of the mixture, or of the worst mixture with the same pairwise batch distances
// (Proposition 3.5). Theorem 3.3 is the case of one event each; one event per batch gives equality.
// Errors: a tuple list that is not a coupling of the conditionals within 1e-9, negative costs, and
// what cost returns. The result is rounded up.
func PartitionBound(x, x2 Partition, coupling []Tuple, cost func(y, y2 []int) (float64, error)) (float64, error) {
	for k, t := range coupling {
		if !(t.Prob >= 0) {
			return 0, bad("tuple %d: probability = %v: must be at least 0", k, t.Prob)
		}
	}
	if err := x.check("x", coupling, func(t Tuple) []int { return t.X }); err != nil {
		return 0, err
	}
	if err := x2.check("x2", coupling, func(t Tuple) []int { return t.X2 }); err != nil {
		return 0, err
	}
	sum := 0.0
	for k, t := range coupling {
		if t.Prob == 0 {
			continue
		}
		c, err := cost(t.X, t.X2)
		if err != nil {
			return 0, err
		}
		if !(c >= 0) {
			return 0, bad("cost of tuple %d = %v: must be at least 0", k, c)
		}
		sum += t.Prob * c
	}
	return sum * (1 + 1e-15*float64(len(coupling)+1)), nil
}

// check returns an error for a partition that is none, or whose conditionals are not the marginals
// of the coupling. batches is the part of a tuple that is about p.
func (p Partition) check(name string, coupling []Tuple, batches func(Tuple) []int) error {
	if len(p.Prob) == 0 || len(p.Prob) != len(p.Given) {
		return bad("partition %s: %d events with %d conditionals", name, len(p.Prob), len(p.Given))
	}
	if i := slices.IndexFunc(p.Prob, func(w float64) bool { return !(w > 0) }); i >= 0 {
		return bad("partition %s: probability of event %d = %v: must be positive", name, i, p.Prob[i])
	}
	if total := floats.Sum(p.Prob); !(math.Abs(total-1) <= massTol) {
		return bad("partition %s: events sum to %v: must be 1", name, total)
	}
	marginals := make([][]float64, len(p.Given))
	for i, given := range p.Given {
		if j := slices.IndexFunc(given, func(g float64) bool { return !(g >= 0) }); j >= 0 {
			return bad("partition %s: conditional of event %d has %v: must be at least 0", name, i, given[j])
		}
		if total := floats.Sum(given); !(math.Abs(total-1) <= massTol) {
			return bad("partition %s: conditional of event %d sums to %v: must be 1", name, i, total)
		}
		marginals[i] = make([]float64, len(given))
	}
	for k, t := range coupling {
		ys := batches(t)
		if len(ys) != len(marginals) {
			return bad("tuple %d has %d batches under %s: must be %d", k, len(ys), name, len(marginals))
		}
		for i, y := range ys {
			if y < 0 || y >= len(marginals[i]) {
				return bad("tuple %d: batch %d under %s: must be in 0..%d", k, y, name, len(marginals[i])-1)
			}
			marginals[i][y] += t.Prob
		}
	}
	for i, given := range p.Given {
		for y, want := range given {
			if got := marginals[i][y]; !(math.Abs(got-want) <= massTol) {
				return bad("coupling: marginal of event %d under %s gives batch %d %v: must be %v", i, name,
					y, got, want)
			}
		}
	}
	return nil
}
