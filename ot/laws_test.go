package ot_test

import (
	"testing"

	"coupling/ot"
	"coupling/ot/ottest"
)

// The first-order methods get few iterations: the laws hold them to what they converge on, and to saying so.
func TestLaws(t *testing.T) {
	const few = 3000
	for name, s := range map[string]ottest.New{
		"sinkhorn": func(eps, tol float64) ot.Solver { return ot.Sinkhorn{Eps: eps, Tol: tol, MaxIter: few} },
		"plain": func(eps, tol float64) ot.Solver {
			return ot.Sinkhorn{Eps: eps, Tol: tol, Anneal: 1, Relax: 1, MaxIter: few}
		},
		"scaling": func(eps, tol float64) ot.Solver { return ot.Scaling{Eps: eps, Tol: tol, MaxIter: few} },
		"lbfgs":   func(eps, tol float64) ot.Solver { return ot.LBFGS{Eps: eps, Tol: tol} },
		"newton":  func(eps, tol float64) ot.Solver { return ot.Newton{Eps: eps, Tol: tol} },
	} {
		t.Run(name, func(t *testing.T) { ottest.Solver(t, s) })
	}
}
