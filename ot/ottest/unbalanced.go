package ottest

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"coupling/lab/logspace"
	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/penalty"
)

// NewUnbalanced makes the solver under test for an ε, a tolerance and the penalties of both marginals, which are of one
// kind.
type NewUnbalanced func(eps, tol float64, a, b penalty.Term) ot.Solver

// penalised is the tolerance that the laws ask of solvers of unbalanced transport.
const penalised = 1e-9

// Unbalanced checks a solver of unbalanced transport on small random problems: masses that differ by up to ten times,
// weights of 0, every kind of penalty, ρ from a thirtieth to thirty times the mean cost, one marginal exact.
func Unbalanced(t *testing.T, s NewUnbalanced) {
	for name, law := range map[string]func(*rapid.T){
		"Optimal":    s.optimal,
		"Symmetry":   s.symmetry,
		"Monotone":   s.monotone,
		"Geometries": s.geometries,
	} {
		t.Run(name, func(t *testing.T) { rapid.Check(t, law) })
	}
}

// An unbalancedProblem is a problem with its penalties.
type unbalancedProblem struct {
	ot.Problem
	c    *mat.Dense
	eps  float64
	a, b penalty.Term
}

func (s NewUnbalanced) problem(t *rapid.T) unbalancedProblem {
	p, eps := kit{basic: true}.problem(t)
	c := ot.Cost(p.Geometry)
	n, m := c.Dims()
	mean := mat.Sum(c)/float64(n*m) + 0.01
	mass := func(name string, w []float64, n int) []float64 {
		if w == nil {
			w = make([]float64, n)
			floats.AddConst(1/float64(n), w)
		}
		floats.Scale(rapid.Float64Range(1, 10).Draw(t, name), w)
		return w
	}
	p.A, p.B = mass("mass of a", p.A, n), mass("mass of b", p.B, m)
	kind := penalty.Kind(rapid.IntRange(int(penalty.KL), int(penalty.ChiSquare)).Draw(t, "kind"))
	term := func(name string) penalty.Term {
		return penalty.Term{Kind: kind, Rho: mean * math.Pow(10, rapid.Float64Range(-1.5, 1.5).Draw(t, name))}
	}
	out := unbalancedProblem{p, c, eps, term("ρ of a"), term("ρ of b")}
	switch rapid.IntRange(0, 5).Draw(t, "exact") {
	case 0:
		out.a.Rho = math.Inf(1)
	case 1:
		out.b.Rho = math.Inf(1)
	}
	return out
}

func (s NewUnbalanced) solve(t *rapid.T, p unbalancedProblem) *ot.Plan {
	plan, err := s(p.eps, penalised, p.a, p.b).Solve(context.Background(), p.Problem)
	if err != nil {
		t.Fatalf("Solve: %v", err)
	}
	if plan.Status != ot.Converged {
		t.Fatalf("Solve: %v", plan)
	}
	return plan
}

// size is the mass that errors are relative to, and unit the value.
func (p unbalancedProblem) size() float64 { return floats.Sum(p.A) + floats.Sum(p.B) }
func (p unbalancedProblem) unit() float64 {
	u := p.eps*(1+floats.Sum(p.A)*floats.Sum(p.B)) + mat.Max(p.c)
	for _, t := range []penalty.Term{p.a, p.b} {
		if !t.Exact() {
			u += t.Rho
		}
	}
	return u * p.size()
}

// The plan has the form of its potentials, no entry where a weight is 0, and the value of the dual at these, which no
// plan's can be below: so it is optimal.
func (s NewUnbalanced) optimal(t *rapid.T) {
	p := s.problem(t)
	plan := s.solve(t, p)
	T := plan.Matrix()
	n, m := T.Dims()
	rows, cols := make([]float64, n), make([]float64, m)
	var primal, dual float64
	for i, a := range p.A {
		for j, b := range p.B {
			v := T.At(i, j)
			if want := a * b * math.Exp((plan.F[i]+plan.G[j]-p.c.At(i, j))/p.eps); math.Abs(v-want) > 1e-9*p.size() {
				t.Fatalf("T[%d,%d] = %g, potentials say %g", i, j, v, want)
			}
			rows[i] += v
			cols[j] += v
			if v > 0 {
				primal += v * (p.c.At(i, j) + p.eps*logspace.Log(v/(a*b)))
			}
			primal += p.eps * (a*b - v)
			dual += p.eps * (a*b - v)
		}
	}
	primal += p.a.Of(rows, p.A) + p.b.Of(cols, p.B)
	for i, a := range p.A {
		dual += a * p.a.Conjugate(plan.F[i])
	}
	for j, b := range p.B {
		dual += b * p.b.Conjugate(plan.G[j])
		if want := plan.G[j] + p.eps*logspace.Log(b); b > 0 && math.Abs(plan.Beta[j]-want) > 1e-9*p.unit() {
			t.Fatalf("Beta[%d] = %g, want G + ε log b = %g", j, plan.Beta[j], want)
		}
	}
	if within := 1e-8 * p.unit(); math.Abs(primal-dual) > within || math.Abs(plan.RegKL()-primal) > within {
		t.Fatalf("objective %.12g, dual %.12g, RegKL %.12g", primal, dual, plan.RegKL())
	}
}

// Swapping source and target transposes the plan.
func (s NewUnbalanced) symmetry(t *rapid.T) {
	p := s.problem(t)
	q := p
	q.Problem = ot.Problem{Geometry: ot.Dense(p.c.T()), A: p.B, B: p.A}
	q.a, q.b = p.b, p.a
	near(t, "transposed problem", mat.DenseCopyOf(s.solve(t, q).Matrix().T()), s.solve(t, p).Matrix(), 1e-6*p.size())
}

// As penalties grow, the value does.
func (s NewUnbalanced) monotone(t *rapid.T) {
	p := s.problem(t)
	q := p
	q.a.Rho *= 2
	if one, two := s.solve(t, p).RegKL(), s.solve(t, q).RegKL(); two < one-1e-8*q.unit() {
		t.Fatalf("value fell from %g to %g as ρ of a doubled", one, two)
	}
}

// The matrix, the matrix along the axis of a grid and the list of all pairs give one plan.
func (s NewUnbalanced) geometries(t *rapid.T) {
	p := s.problem(t)
	want := s.solve(t, p).Matrix()
	n, m := p.c.Dims()
	starts, targets := []int{0}, []int(nil)
	for i := range n {
		targets = append(targets, upTo(m)...)
		starts = append(starts, (i+1)*m)
	}
	for name, g := range map[string]cost.Geometry{
		"matrix": ot.Dense(p.c),
		"grid":   cost.Grid(p.c),
		"list":   cost.Sparse(m, starts, targets, p.c.RawMatrix().Data),
	} {
		p.Geometry = g
		near(t, name, s.solve(t, p).Matrix(), want, 1e-6*p.size())
	}
}
