package ottest

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	_ "coupling/lab/draws" // rapid draws from a fixed seed
	"coupling/ot"
)

// NewBarycentre is the solver under test: the weights b on the common targets of problems that minimise
// Σ_k w_k min <T_k,c_k> + ε Σ T_k log T_k, as barycentre.Fixed does. The weights w sum to 1.
type NewBarycentre func(ctx context.Context, problems []ot.Problem, w []float64, eps, tol float64) ([]float64, error)

// blurred is how far weights of barycentres may be off, an L1 distance: tol divided by the condition of the problem.
const blurred = 1e-6

// Barycentre checks a solver of entropic barycentres on small random problems: measures of their own costs, with
// weights of 0, and ε from a fifth to ten times the mean cost.
func Barycentre(t *testing.T, s NewBarycentre) {
	for name, law := range map[string]func(*rapid.T){
		"Optimal": s.optimal,
		"One":     s.one,
		"Order":   s.order,
		"Support": s.support,
	} {
		t.Run(name, func(t *testing.T) { rapid.Check(t, law) })
	}
}

// problem draws measures, their weights and ε.
func (s NewBarycentre) problem(t *rapid.T) (problems []ot.Problem, w []float64, eps float64) {
	m, d := rapid.IntRange(1, 10).Draw(t, "m"), rapid.IntRange(1, 3).Draw(t, "d")
	support := points(t, "support", m, d)
	var mean float64
	for range rapid.IntRange(1, 4).Draw(t, "measures") {
		n := rapid.IntRange(1, 10).Draw(t, "n")
		p := ot.Problem{Geometry: ot.Points(points(t, "x", n, d), support, ot.SqEuclidean)}
		p.A = kit{basic: true}.weights(t, "a", n)
		problems, w = append(problems, p), append(w, rapid.Float64Range(0.1, 1).Draw(t, "w"))
		mean = max(mean, mat.Sum(ot.Cost(p.Geometry))/float64(n*m))
	}
	floats.Scale(1/floats.Sum(w), w)
	return problems, w, (mean + 0.01) * math.Pow(10, rapid.Float64Range(-0.7, 1).Draw(t, "log10 eps"))
}

func (s NewBarycentre) solve(t *rapid.T, problems []ot.Problem, w []float64, eps float64) []float64 {
	b, err := s(context.Background(), problems, w, eps, tol)
	if err != nil {
		t.Fatalf("barycentre: %v", err)
	}
	if off := math.Abs(floats.Sum(b) - 1); !(off < 1e-12) || slices.Min(b) < 0 {
		t.Fatalf("weights %v: must be ≥ 0 and sum to 1", b)
	}
	return b
}

// same fails unless two barycentres agree.
func (s NewBarycentre) same(t *rapid.T, what string, got, want []float64) {
	if off := floats.Distance(got, want, 1); !(off <= blurred) {
		t.Fatalf("%s: %v, want %v: off by %g", what, got, want, off)
	}
}

// The derivatives of the plans' values by b, potentials that another solver finds, cancel but for a constant.
func (s NewBarycentre) optimal(t *rapid.T) {
	problems, w, eps := s.problem(t)
	b := s.solve(t, problems, w, eps)
	sum := make([]float64, len(b))
	for k, p := range problems {
		plan := solve(t, ot.LBFGS{Eps: eps, Tol: 1e-13}, ot.Problem{Geometry: p.Geometry, A: p.A, B: b})
		for j, v := range plan.Beta {
			if b[j] > 0 {
				sum[j] += w[k] * v
			}
		}
	}
	mean := floats.Dot(b, sum)
	for j, v := range sum {
		if off := b[j] * math.Abs(v-mean); off > blurred*eps {
			t.Fatalf("b = %v: Σ w β is %g at %d, %g in the mean", b, v, j, mean)
		}
	}
}

// The barycentre of one measure, also as two halves, is what its kernel makes of it: Σᵢ aᵢ softmaxⱼ(−cᵢⱼ/ε).
func (s NewBarycentre) one(t *rapid.T) {
	problems, _, eps := s.problem(t)
	p := problems[0]
	a, _, err := p.Weights()
	if err != nil {
		t.Fatal(err)
	}
	c := ot.Cost(p.Geometry)
	_, m := c.Dims()
	want, row := make([]float64, m), make([]float64, m)
	for i, mass := range a {
		for j := range row {
			row[j] = math.Exp((mat.Min(c.RowView(i)) - c.At(i, j)) / eps)
		}
		floats.AddScaled(want, mass/floats.Sum(row), row)
	}
	s.same(t, "of one measure", s.solve(t, problems[:1], []float64{1}, eps), want)
	s.same(t, "of two halves", s.solve(t, []ot.Problem{p, p}, []float64{0.3, 0.7}, eps), want)
}

// The order of measures does not matter.
func (s NewBarycentre) order(t *rapid.T) {
	problems, w, eps := s.problem(t)
	want := s.solve(t, problems, w, eps)
	slices.Reverse(problems)
	slices.Reverse(w)
	s.same(t, "of the measures in reverse", s.solve(t, problems, w, eps), want)
}

// The order of the support permutes the weights, and constants in the costs change nothing.
func (s NewBarycentre) support(t *rapid.T) {
	problems, w, eps := s.problem(t)
	b := s.solve(t, problems, w, eps)
	order := rapid.Permutation(upTo(len(b))).Draw(t, "order")
	want := make([]float64, len(b))
	for k, j := range order {
		want[k] = b[j]
	}
	by := eps * rapid.Float64Range(-3, 3).Draw(t, "shift")
	for k, p := range problems {
		c := ot.Cost(p.Geometry)
		n, m := c.Dims()
		moved := mat.NewDense(n, m, nil)
		moved.Apply(func(i, j int, _ float64) float64 { return c.At(i, order[j]) + float64(k)*by }, moved)
		problems[k].Geometry = ot.Dense(moved)
	}
	s.same(t, "on the support in another order", s.solve(t, problems, w, eps), want)
}
