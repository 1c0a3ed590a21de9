package ot_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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
