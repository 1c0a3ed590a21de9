package ot

import "coupling/ot/internal/solve"

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

// driver is the settings of a solve as drivers take them.
func (c Control) driver(eps, tol float64) solve.Control {
	out := solve.Control{
		Eps:     eps,
		Tol:     tol,
		MaxIter: c.MaxIter,
		Anneal:  c.Anneal,
		Start:   c.Start,
		Workers: c.Workers,
	}
	if c.Trace != nil {
		out.Trace = func(s solve.Step) error { return c.Trace(Step(s)) }
	}
	return out
}
