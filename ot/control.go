package ot

import (
	"math"
)

const (
	// defaultTol is the L1 marginal error that solvers stop at where Tol is 0.
	defaultTol = 1e-9
	// defaultMaxIter is the largest number of steps where MaxIter is 0.
	defaultMaxIter = 100_000
)

// Control holds what solvers have in common beside ε and the tolerance; its zero value works:
//
//	ot.LBFGS{Eps: 0.01, Control: ot.Control{MaxIter: 500, Workers: 1}}
type Control struct {
	// MaxIter is the largest number of iterations; 0 is 100,000.
	MaxIter int
	// Anneal in (0, 1] is the factor from one ε to the next, down to Eps from the spread of the costs; 1 is no
	// annealing, and 0 is ¼ for an Eps below 4 % of the spread, else 1.
	Anneal float64
	// Start holds KL potentials g of the m targets to start from (another plan's G); where they are good, annealing is
	// skipped.
	Start []float64
	// Workers is the number of goroutines; 0 is GOMAXPROCS. The result does not depend on it.
	Workers int
	// Trace, where not nil, is called after every evaluation, from the goroutine that called Solve. An error ends the
	// solve.
	Trace func(Step) error
}

// check reports settings out of range.
func (c Control) check(eps, tol float64) error {
	if err := checkEps("Eps", eps); err != nil {
		return err
	}
	switch {
	case math.IsNaN(tol) || tol < 0 || math.IsInf(tol, 0):
		return bad(ErrParameter, "Tol = %g: must be finite and ≥ 0 (0 is %g)", tol, defaultTol)
	case c.MaxIter < 0:
		return bad(ErrParameter, "MaxIter = %d: must be ≥ 0 (0 is %d)", c.MaxIter, defaultMaxIter)
	case math.IsNaN(c.Anneal) || c.Anneal < 0 || c.Anneal > 1:
		return bad(ErrParameter, "Anneal = %g: must be in (0, 1], or 0 for ¼", c.Anneal)
	}
	return nil
}

// checkStart reports potentials of m targets that are too few, or not finite.
func checkStart(name string, g []float64, m int) error {
	if g != nil && len(g) != m {
		return bad(ErrShape, "%s has %d potentials for %d targets", name, len(g), m)
	}
	for j, v := range g {
		if v-v != 0 {
			return bad(ErrParameter, "%s[%d] = %g: must be finite", name, j, v)
		}
	}
	return nil
}

// epsMin and epsMax keep 1/ε and ε log w finite.
const epsMin, epsMax = 1e-300, 1e300

// checkEps reports an ε that no solver can use.
func checkEps(name string, eps float64) error {
	switch {
	case !(eps > 0) || math.IsInf(eps, 0):
		return bad(ErrParameter, "%s = %g: must be > 0 and finite", name, eps)
	case eps < epsMin || eps > epsMax:
		return bad(ErrParameter, "%s = %g: must be from %g to %g", name, eps, epsMin, epsMax)
	}
	return nil
}
