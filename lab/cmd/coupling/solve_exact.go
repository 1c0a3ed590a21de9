package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"coupling/lab/durable"
	"coupling/ot"
	"coupling/ot/exact"

	"gonum.org/v1/gonum/floats"
)

// exact is the limit eps = 0: all three losses are <T,M>, and its gradient with respect to M is T.
func (c solveCmd) exact(ctx context.Context, p ot.Problem, to *durable.Folder) (summary, error) {
	began := time.Now()
	cost := p.Geometry
	if !c.MatrixFree {
		cost = ot.Dense(ot.Cost(cost))
	}
	solution, err := exact.Simplex{MaxPivots: given(c.MaxIter)}.Solve(ctx, ot.Problem{Geometry: cost, A: p.A, B: p.B})
	if err != nil {
		return summary{}, err
	}
	status := solution.Status.String()
	if solution.Status == exact.Optimal { // as the other solvers call it
		status = ot.Converged.String()
	}
	cert := solution.Certificate
	s := summary{
		Solver:     "exact",
		Status:     status,
		Iterations: solution.Pivots,
		Seconds:    time.Since(began).Seconds(),
		MarginalL1: cert.Marginal / cert.Mass,
		Sharp:      cert.Primal / cert.Mass,
		RegKL:      cert.Primal / cert.Mass,
		RegEntropy: cert.Primal / cert.Mass,
	}
	out := results{f: solution.F, g: solution.G}
	out.alpha, out.beta = gauge(p.A, p.B, solution.F, solution.G)
	if c.NoPlan && c.Grad == "" {
		out.write(to)
		return s, nil
	}
	plan := solution.Matrix()
	plan.Scale(1/cert.Mass, plan)
	if !c.NoPlan {
		out.plan = plan
	}
	out.write(to)
	if c.Grad == "M" {
		s.Gradient = s.Status
		writeMatrix(to, c.gradFile(), plan)
	}
	return s, nil
}

// gauge returns the potentials shifted such that the last target of positive weight has 0, and -Inf where there is no
// weight: the alpha and beta of the entropic solvers.
func gauge(a, b, f, g []float64) (alpha, beta []float64) {
	last := 0.0
	for j, v := range g {
		if b == nil || b[j] > 0 {
			last = v
		}
	}
	shifted := func(w, v []float64, by float64) []float64 {
		out := make([]float64, len(v))
		for i := range v {
			out[i] = v[i] + by
			if w != nil && w[i] == 0 {
				out[i] = math.Inf(-1)
			}
		}
		return out
	}
	return shifted(a, f, last), shifted(b, g, -last)
}

// massTolerance is the relative difference between totals that package ot takes for rounding in float32.
const massTolerance = 1e-5

// sameMass divides weights by their sums, which the simplex wants equal to its last digits, where
// they are equal to those of float32. Nil is uniform.
func sameMass(a, b []float64) (_, _ []float64, err error) {
	sa, sb := floats.SumCompensated(a), floats.SumCompensated(b)
	if a != nil && b != nil && math.Abs(sa-sb) > massTolerance*max(sa, sb) {
		return nil, nil, fmt.Errorf("--a sums to %g and --b to %g: must be equal, to 1e-5 of their size", sa, sb)
	}
	return over(a, sa), over(b, sb), nil
}

// over divides weights by their sum. Weights that are none are for the solver to name.
func over(w []float64, sum float64) []float64 {
	if w == nil || !(floats.Min(w) >= 0 && sum > 0) || math.IsInf(sum, 1) {
		return w
	}
	out := make([]float64, len(w))
	for i, v := range w { // 1/sum may overflow
		out[i] = v / sum
	}
	return out
}
