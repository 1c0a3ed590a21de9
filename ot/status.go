package ot

import (
	"time"

	"coupling/ot/internal/fault"
	"coupling/ot/internal/solve"
)

// Status is the outcome of a solve. Only with Converged is a plan the solution to the tolerance asked
// for.
type Status int

const (
	// Converged means that the L1 error of the marginals is at most Tol, and that no column
	// deviates from its weight by more than √Tol of it. The plan and its values are then right to
	// that error. So are potentials and derivatives by weights, those of small weights too, as far as
	// Plan.Coupling says that the plan determines them.
	Converged = Status(solve.Converged)
	// IterationLimit means that MaxIter was reached first; MarginalL1 says how far it got.
	IterationLimit = Status(solve.IterationLimit)
	// Stagnated means that the error stopped falling above Tol; MarginalL1 says where. As a rule
	// float64 cannot reach Tol on this problem; L-BFGS and Newton steps may also stall where atoms
	// are hardly coupled. With MarginalL1 ≤ Tol, potentials of very small weights may not be as
	// good as those of a converged solve, or potentials are so far above ε (some 1e7 ε on a grid,
	// 1e11 ε elsewhere) that rounding leaves the plan and its values with more error than
	// MarginalL1 says: subtract a constant from the costs. Sinkhorn and Scaling may be slow but do
	// not stall above rounding: they end with IterationLimit.
	Stagnated = Status(solve.Stagnated)
	// Interrupted means that the context ended or Trace returned an error. Solve returns the plan
	// so far and that error.
	Interrupted = Status(solve.Interrupted)
	// Undetermined is the status of a derivative by weights, not of a solve: atoms are coupled so
	// weakly that float64 does not determine it. Plan.Coupling names them.
	Undetermined = Interrupted + 1
)

// String returns the name of the status.
func (s Status) String() string {
	return fault.Name("Status", int(s),
		"unsolved", "converged", "iteration limit", "stagnated", "interrupted", "undetermined")
}

// Step is what a solver passes to its Trace after each evaluation.
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

// worse returns the first status that is not Converged.
func worse(a, b Status) Status {
	if a == Converged {
		return b
	}
	return a
}
