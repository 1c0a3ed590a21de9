package ot

import (
	"context"
	"fmt"
)

// Auto picks a solver by the size, ε and tolerance of the problem; the plan's Solver says which, and why.
type Auto struct {
	// Eps is the ε > 0 of the problem, in units of cost.
	Eps float64
	// Tol stops when the L1 error of the marginals is at most Tol; 0 is 1e-9.
	Tol float64
	// MaxIter is the largest number of iterations of the solver picked; 0 is 100,000.
	MaxIter int
	// Start holds KL potentials g of the m targets to start from (another plan's G).
	Start []float64
	// Workers is the number of goroutines; 0 is GOMAXPROCS. The result does not depend on it.
	Workers int
	// Trace, where not nil, is called after every evaluation, from the goroutine that called Solve.
	Trace func(Step)
}

// Solve returns the plan of p at ε by the solver that Auto picks, to an L1 marginal error of 1e-9.
func Solve(ctx context.Context, p Problem, eps float64) (*Plan, error) {
	return Auto{Eps: eps}.Solve(ctx, p)
}

const (
	// scalingSpread is the spread of the costs, in ε, below which a dozen scalings converge and nothing is faster.
	scalingSpread = 2
	// newtonTol is the tolerance from which Newton's last digits, which come in two or three steps, repay the
	// assembly of its Hessian; above it L-BFGS is as fast or faster on all the timing problems.
	newtonTol = 1e-8
	// newtonMost is the largest n·m for which Newton is picked whatever ε: 80 MB of entries if none is negligible.
	newtonMost = 1 << 22
)

// Solve returns the plan of p.
func (o Auto) Solve(ctx context.Context, p Problem) (*Plan, error) {
	if err := checkEps(o.Eps); err != nil {
		return nil, err
	}
	if err := checkTol(o.Tol); err != nil {
		return nil, err
	}
	in, err := p.check(o.Workers)
	if err != nil {
		return nil, err
	}
	p.Geometry = checked{p.Geometry, in}
	s, why := o.pick(in)
	plan, err := s.Solve(ctx, p)
	if err != nil {
		return nil, err
	}
	plan.Solver += " (auto: " + why + ")"
	return plan, nil
}

// pick returns the solver for a checked problem and the reason.
func (o Auto) pick(in *instance) (Solver, string) {
	tol := o.Tol
	if tol == 0 {
		tol = defaultTol
	}
	s := semidual{instance: in, eps: o.Eps}
	switch spread := in.cost.spread() / o.Eps; {
	case spread <= scalingSpread && s.kernelFits() && tol >= 20*s.noise():
		why := fmt.Sprintf("costs spread over %.2g ε", spread)
		return Scaling{Eps: o.Eps, Tol: o.Tol, MaxIter: o.MaxIter, Start: o.Start, Workers: o.Workers, Trace: o.Trace}, why
	case tol < newtonTol && in.n <= newtonMost/in.m:
		why := fmt.Sprintf("tolerance %.2g at %d×%d", tol, in.n, in.m)
		return Newton{Eps: o.Eps, Tol: o.Tol, MaxIter: o.MaxIter, Start: o.Start, Workers: o.Workers, Trace: o.Trace}, why
	default:
		why := fmt.Sprintf("%d×%d, costs spread over %.2g ε", in.n, in.m, spread)
		return LBFGS{Eps: o.Eps, Tol: o.Tol, MaxIter: o.MaxIter, Start: o.Start, Workers: o.Workers, Trace: o.Trace}, why
	}
}
