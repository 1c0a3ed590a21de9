package ot

import (
	"context"

	"coupling/ot/internal/solve"
	"coupling/ot/penalty"
)

// Unbalanced solves transport with penalised instead of fixed marginals (Chizat et al. 2018):
//
//	min over T ≥ 0 of  <T,c> + ε KL(T|abᵀ) + ρa D(T1|a) + ρb D(Tᵀ1|b),   KL(p|q) = Σ p log(p/q) − p + q,
//
// where D is KL, total variation or χ², by L-BFGS on the dual as a function of the target potentials
// alone: those of the sources, and with KL the best constant to add to one side and subtract from
// the other (Séjourné, Vialard and Peyré 2022), follow from them exactly. It anneals ε as LBFGS
// does, and takes the steps of the other side, in closed form, where L-BFGS has no history. Weights
// are taken as they are, not normalised, and their totals may differ. In the plan, MarginalL1 is the
// L1 distance of the marginals to those that the potentials ask for (a e^(−f/ρa) and b e^(−g/ρb)
// with KL; package penalty), which is 0 at the optimum; Value().RegKL is the whole objective, and
// the entropy-form values are NaN. Only RegKL has gradients; those by weights are exact, not up to a
// constant.
type Unbalanced struct {
	// Eps is the ε > 0 of the problem, in units of cost.
	Eps float64
	// RhoA and RhoB > 0 are the marginal penalties, in units of cost; +Inf keeps the marginal exact. At most
	// one of them may be +Inf unless the totals of A and B agree.
	RhoA, RhoB float64
	// Penalty is D, of package penalty; 0 is KL.
	Penalty penalty.Kind
	// Tol stops when MarginalL1 is at most Tol times the mass of b, and every column is within √Tol
	// of its target, relatively; 0 is 1e-9. Where rounding of the potentials may move more, the status is Stagnated.
	Tol float64
	Control
}

// From returns the solver that starts from the KL potentials g.
func (o Unbalanced) From(g []float64) Solver {
	o.Start = g
	return o
}

// Solve returns the plan of p. Errors are for bad input, and, with the plan so far, for a context that ended.
func (o Unbalanced) Solve(ctx context.Context, p Problem) (*Plan, error) {
	r, err := solve.Unbalanced(ctx, p.driver(), o.driver(o.Eps, o.Tol), o.Penalty, o.RhoA, o.RhoB)
	return p.plan("unbalanced", r), err
}
