// A module that knows package ot from outside: a solver and a geometry of its own.
package foreign

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/ottest"
)

// grid is the squared distance between two regular grids of [0, 1], made on the way.
type grid struct{ n, m int }

func (g grid) Dims() (n, m int) { return g.n, g.m }

func (g grid) Row(i int, buf []float64) []float64 {
	for j := range buf {
		d := float64(i)/float64(g.n) - float64(j)/float64(g.m)
		buf[j] = d * d
	}
	return buf
}

// alternating is the textbook: both potentials in turn, in the log domain, a fixed number of times.
type alternating struct {
	eps, tol float64
	steps    int
}

func (s alternating) Solve(ctx context.Context, p ot.Problem) (*ot.Plan, error) {
	a, b, err := p.Weights()
	if err != nil {
		return nil, err
	}
	c := ot.Cost(p.Geometry)
	f, g := make([]float64, len(a)), make([]float64, len(b))
	for range s.steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		softmin(f, g, b, c, s.eps)
		softmin(g, f, a, c.T(), s.eps)
	}
	plan, err := ot.NewPlan(p, s.eps, g)
	if err != nil {
		return nil, err
	}
	plan.Solver, plan.Iterations, plan.Status = "alternating", s.steps, ot.IterationLimit
	if plan.MarginalL1 <= s.tol && within(plan, math.Sqrt(s.tol)) {
		plan.Status = ot.Converged
	}
	return plan, nil
}

// within reports whether no column deviates from its weight by more than a part of it.
func within(p *ot.Plan, part float64) bool {
	for j, v := range p.ApplyT(slices.Repeat([]float64{1}, len(p.A))) {
		if math.Abs(v-p.B[j]) > part*p.B[j] {
			return false
		}
	}
	return true
}

// softmin writes −ε log Σ w exp((g − cᵢ)/ε).
func softmin(f, g, w []float64, c mat.Matrix, eps float64) {
	for i := range f {
		top, sum := math.Inf(-1), 0.0
		for j, v := range g {
			top = max(top, v-c.At(i, j))
		}
		for j, v := range g {
			sum += w[j] * math.Exp((v-c.At(i, j)-top)/eps)
		}
		f[i] = -top - eps*math.Log(sum)
	}
}

// The laws hold for a textbook, but for small weights.
func TestLaws(t *testing.T) {
	ottest.Basic(t, func(eps, tol float64) ot.Solver { return alternating{eps, tol, 1000} })
}

// Both solvers end with the same values and gradients.
func TestForeign(t *testing.T) {
	p := ot.Problem{Geometry: grid{40, 30}, A: make([]float64, 40)}
	for i := range p.A {
		p.A[i] = float64(1 + i%3) // of any total
	}
	var plans []*ot.Plan
	for _, s := range []ot.Solver{alternating{eps: 0.05, tol: 1e-9, steps: 200}, ot.LBFGS{Eps: 0.05}} {
		plan, err := s.Solve(t.Context(), p)
		if err != nil || plan.Status != ot.Converged {
			t.Fatal(err, plan)
		}
		plans = append(plans, plan)
	}
	gradient := func(p *ot.Plan) float64 {
		g := must.Get(p.Grad(ot.Sharp))
		return g.Cost().At(3, 4) * 1200
	}
	for _, of := range []func(*ot.Plan) float64{(*ot.Plan).Sharp, (*ot.Plan).RegKL, gradient} {
		if a, b := of(plans[0]), of(plans[1]); math.Abs(a-b) > 1e-6 {
			t.Errorf("%v and %v", a, b)
		}
	}
}
