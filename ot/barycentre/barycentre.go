// Package barycentre has entropic barycentres of measures, on a fixed support and with free points.
package barycentre

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
	"coupling/ot/internal/fault"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/solve"
)

// Fixed finds the weights b on a fixed support that minimise
//
//	Σ_k w_k min <T_k,c_k> + ε Σ T_k log T_k   over T_k ≥ 0 with T_k 1 = a_k and T_kᵀ1 = b,
//
// the entropic barycentre of the measures a_k, by iterative Bregman projections (Benamou, Carlier,
// Cuturi, Nenna and Peyré 2015) with ε-annealing and Nesterov's momentum. An iteration is one pass over the costs of
// each measure. The zero value with Eps set works.
//
// Debiased minimises the sum of Sinkhorn divergences instead (Janati, Cuturi and Gramfort 2020), which does not
// blur: the barycentre of copies of a measure is that measure. One more pass an iteration. Where shapes are sharp and ε
// is large against them it is all but undetermined: mass gathers in few points, errors fall like 1/t² at best, and the
// Status may be IterationLimit. The sum of divergences is flat there: of noisy 48×48 images at 9 pixels², weights whose
// sums are within 1e-5 ε of the least were 1 apart in L1.
type Fixed struct {
	// Eps is the ε > 0 of the problem, in units of cost.
	Eps float64
	// Tol stops when Σ_k w_k Σ|T_kᵀ1−b| is at most Tol; 0 is 1e-9.
	Tol float64
	// MaxIter is the largest number of iterations; 0 is 100,000, or 10,000 where Debiased.
	MaxIter int
	// Workers is the number of goroutines; 0 is GOMAXPROCS. The result does not depend on it.
	Workers int
	// Debiased removes the blur. The first geometry must be symmetric: every measure on the support itself.
	Debiased bool
}

// Result is the result of a Fixed or a Free.
type Result struct {
	// X is the support that a Free found, n×d. B holds the weights: those that a
	// Fixed found, or those given to a Free.
	X *mat.Dense
	B []float64
	// Plans are the plans from each measure to the barycentre. A plan of a Fixed that converged is itself Converged, or
	// Stagnated where its own L1 error exceeds Tol, as of a measure of small weight, or where a column is off by more
	// than √Tol of its weight, as of a point with hardly any mass.
	Plans []*ot.Plan
	// Status says whether the solve converged, Iterations counts steps, and Error is the number
	// that Tol bounds.
	Status     ot.Status
	Iterations int
	Error      float64
}

// Solve returns the barycentre of several measures. The sources of problems[k], with weights A, are
// the k-th measure; the targets, the same in every problem, are the support; B is not read. w holds
// the weights of the measures, which are divided by their sum; nil is equal weights. Errors are for
// bad input and for a context that ended.
func (o Fixed) Solve(ctx context.Context, problems []ot.Problem, w []float64) (*Result, error) {
	w, err := weights(w, len(problems))
	if err != nil {
		return nil, err
	}
	measures := make([]solve.Problem, len(problems))
	for k, p := range problems {
		measures[k] = solve.Problem{Geometry: p.Geometry, A: p.A}
	}
	c := solve.Control{Eps: o.Eps, Tol: o.Tol, MaxIter: o.MaxIter, Workers: o.Workers}
	s, err := solve.Bregman(ctx, measures, w, c, o.Debiased)
	if err != nil {
		return nil, err
	}
	out := &Result{B: s.B, Status: ot.Status(s.Status), Iterations: s.Iterations, Error: s.Error}
	for k, p := range measures {
		a, _, err := p.Weights()
		if err != nil {
			return nil, err
		}
		plan, err := ot.NewPlan(ot.Problem{Geometry: p.Geometry, A: a, B: s.B}, o.Eps, s.G[k])
		if err != nil {
			return nil, err
		}
		plan.Solver, plan.Status, plan.Iterations = "barycentre", ot.Status(s.Plans[k]), s.Iterations
		out.Plans = append(out.Plans, plan)
	}
	return out, nil
}

// weights returns w divided by its sum, equal ones for nil.
func weights(w []float64, n int) ([]float64, error) {
	if n == 0 {
		return nil, fault.OT(fault.ErrShape, "there must be a measure")
	}
	w, _, err := rows.Weights(make([]float64, n), "w", w, "measures", fault.OT)
	return w, err
}
