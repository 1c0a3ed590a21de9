package ot_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"coupling/lab/must"
	"coupling/ot"
	"coupling/ot/ottest"
)

// The first-order methods get few iterations: the laws hold them to what they converge on, and to saying so.
func TestLaws(t *testing.T) {
	const few = 3000
	for name, s := range map[string]ottest.New{
		"sinkhorn": func(eps, tol float64) ot.Solver {
			return ot.Sinkhorn{Eps: eps, Tol: tol, Control: ot.Control{MaxIter: few}}
		},
		"plain": func(eps, tol float64) ot.Solver {
			return ot.Sinkhorn{Eps: eps, Tol: tol, Relax: 1, Control: ot.Control{Anneal: 1, MaxIter: few}}
		},
		"scaling": func(eps, tol float64) ot.Solver {
			return ot.Scaling{Eps: eps, Tol: tol, Control: ot.Control{MaxIter: few}}
		},
		"lbfgs":  func(eps, tol float64) ot.Solver { return ot.LBFGS{Eps: eps, Tol: tol} },
		"newton": func(eps, tol float64) ot.Solver { return ot.Newton{Eps: eps, Tol: tol} },
	} {
		t.Run(name, func(t *testing.T) { ottest.Solver(t, s) })
	}
}

func TestLaplacian(t *testing.T) { rapid.Check(t, laplacian) }

// D = Diag(b) − TᵀDiag(1/a)T is semidefinite, kills constants, and is below Diag(b); its quadratic form is at least
// |v−v_m|² minⱼ Σᵢ T_ij T_im/aᵢ.
func laplacian(t *rapid.T) {
	p, eps := ottest.Problem(t)
	const tol = 1e-10
	plan := must.Get(ot.LBFGS{Eps: eps, Tol: tol}.Solve(ctx, p))
	_, m := plan.Dims()
	v := rapid.SliceOfN(rapid.Float64Range(-1, 1), m, m).Draw(t, "v")
	quad := func(v []float64) float64 {
		u := plan.Apply(v)
		var q float64
		for j, b := range plan.B {
			q += b * v[j] * v[j]
		}
		for i, a := range plan.A {
			if a > 0 {
				q -= u[i] * u[i] / a
			}
		}
		return q
	}
	var upper float64
	for j, b := range plan.B {
		upper += b * v[j] * v[j]
	}
	q := quad(v)
	if q < -10*tol || q > upper+10*tol {
		t.Fatalf("vᵀDv = %v, want in [0, %v]", q, upper)
	}
	if k := quad(slices.Repeat([]float64{1}, m)); math.Abs(k) > 10*tol {
		t.Fatalf("1ᵀD1 = %v, want 0", k)
	}
	T := plan.Matrix()
	least := math.Inf(1)
	var size float64
	for j := range m - 1 {
		var w float64
		for i, a := range plan.A {
			if a > 0 {
				w += T.At(i, j) * T.At(i, m-1) / a
			}
		}
		least = min(least, w)
		size += (v[j] - v[m-1]) * (v[j] - v[m-1])
	}
	if m > 1 && q < least*size-10*tol {
		t.Fatalf("vᵀDv = %v is below λ_min's bound %v", q, least*size)
	}
}

func TestBatch(t *testing.T) { rapid.Check(t, batch) }

// A batch gives the bits of its problems one by one.
func batch(t *rapid.T) {
	var problems []ot.Problem
	_, eps := ottest.Problem(t)
	for range 4 {
		p, _ := ottest.Problem(t)
		problems = append(problems, p)
	}
	plans, err := ot.Batch{Solver: ot.LBFGS{Eps: eps, Tol: 1e-8}, Workers: 3}.Solve(ctx, problems)
	if err != nil {
		t.Skipf("the drawn ε does not suit every problem: %v", err)
	}
	for k, p := range problems {
		one, err := ot.LBFGS{Eps: eps, Tol: 1e-8}.Solve(ctx, p)
		if err != nil {
			t.Fatalf("Solve: %v", err)
		}
		if d := cmp.Diff(one.Beta, plans[k].Beta); d != "" {
			t.Fatalf("problem %d of a batch differs from itself alone (-alone +batch):\n%s", k, d)
		}
	}
}
