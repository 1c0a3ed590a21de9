package ot

import (
	"context"
	"fmt"
	"time"
)

// Status says how a solve ended. A plan is what it claims to be only with Converged.
type Status int

const (
	// Unsolved is the status of the zero Plan.
	Unsolved Status = iota
	// Converged means that the L1 error of the marginals is at most Tol, and that no column is off by more than √Tol of its
	// weight, which makes the potentials of small weights right too.
	Converged
	// IterationLimit means that MaxIter was reached first; MarginalL1 says how far it got.
	IterationLimit
	// Stagnated means that the error stopped falling above Tol; MarginalL1 says where. As a rule Tol is below what float64
	// can do for this problem; L-BFGS and Newton steps may also have found no way on from where atoms are hardly coupled.
	// With MarginalL1 ≤ Tol, all but the potentials of very small weights is right. Sinkhorn and Scaling are slow above
	// rounding, never stuck: they end by IterationLimit.
	Stagnated
	// Interrupted means that the context ended or Trace returned an error, which Solve returns beside the plan.
	Interrupted
)

// String returns the name of the status.
func (s Status) String() string {
	if s < Unsolved || s > Interrupted {
		return fmt.Sprintf("Status(%d)", int(s))
	}
	return [...]string{"unsolved", "converged", "iteration limit", "stagnated", "interrupted"}[s]
}

// Step is what a solver tells its Trace after each evaluation.
type Step struct {
	// Iteration counts steps of the method, Evaluation passes over the costs.
	Iteration, Evaluation int
	// Eps is the ε of this step, larger than the problem's while annealing.
	Eps float64
	// MarginalL1 is Σ|T1−a| + Σ|Tᵀ1−b| at this step's Eps.
	MarginalL1 float64
	// Elapsed is the time since Solve was called.
	Elapsed time.Duration
}

// Solver is anything that solves a Problem; every solver of this package is one. NewPlan makes the plan of a solver that lives
// elsewhere. An error comes without a plan, or, where the context ended or Trace stopped the solve, with the plan so far,
// whose Status is Interrupted.
type Solver interface {
	Solve(ctx context.Context, p Problem) (*Plan, error)
}

// Solve returns the plan of p at ε by LBFGS, to an L1 marginal error of 1e-9.
func Solve(ctx context.Context, p Problem, eps float64) (*Plan, error) {
	return LBFGS{Eps: eps}.Solve(ctx, p)
}
