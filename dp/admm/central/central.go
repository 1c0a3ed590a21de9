package central

import (
	"context"
	"fmt"
	"math"

	"coupling/dp/admm"
)

// Optimum is an optimal plan.
type Optimum struct {
	Plan  []float64 // an amount an edge
	Value float64   // the social utility
	// Gap bounds how much better any plan can be.
	Gap float64
}

// loosest is the largest relative gap of an optimum.
const loosest = 1e-8

// Solve returns the optimum. Where all utilities are linear it is that of exact transport over the pairs of the graph,
// and Gap is rounding. Else the plan is that of a long run of ADMM, with a proof that does not depend on how it was
// found: Gap is the duality gap at the prices of the run. The relative gap is at most 1e-8; otherwise an error states
// it. Errors: those of Problem.Check, a cancelled context. Cost: thousands of rounds of O(edges).
func Solve(ctx context.Context, p admm.Problem) (Optimum, error) {
	if isLinear(p) {
		if err := p.Check(); err != nil {
			return Optimum{}, err
		}
		switch out, err := transport(ctx, p); {
		case ctx.Err() != nil:
			return out, err
		case err == nil && out.Gap <= loosest*(1+math.Abs(out.Value)):
			return out, nil
		} // what the simplex method refuses or leaves open, amounts of extreme range, ADMM may solve
	}
	var out Optimum
	for _, eta := range []float64{1, .1, 10, .01, 100} {
		r, err := admm.ADMM{Eta: eta, Adapt: true, Relax: 1.6, Tol: 1e-12, MaxRounds: 20_000}.Solve(ctx, p)
		if err != nil {
			return out, err
		}
		plan := p.Repair(r.Plan)
		value := p.Utility(plan)
		if gap := max(0, dual(p, plan, r.Price)-value); out.Plan == nil || gap < out.Gap {
			out = Optimum{Plan: plan, Value: value, Gap: gap}
		}
		if out.Gap <= 1e-9*(1+math.Abs(out.Value)) {
			break
		}
	}
	if out.Gap > loosest*(1+math.Abs(out.Value)) {
		return out, fmt.Errorf("central: ADMM ended with a gap of %.3g at value %.6g", out.Gap, out.Value)
	}
	return out, nil
}

// dual bounds the utility of every plan from above, by weak duality at any prices α of the edges,
// which the targets pay, and any ν of a unit at each node:
//
//	Σ_nodes ( max(ν·Min, ν·Max) + Σ_edges max_{0 ≤ v ≤ c} u(v) ∓ αv − νv ),   c the most that either end may have,
//
// where u, being concave, lies below its tangent at the plan's v. The ν of a node is the largest
// that its edges ask for.
func dual(p admm.Problem, plan, price []float64) float64 {
	sum := 0.0
	for n, s := range p.Specs() {
		sign := 1.0 // of α: targets pay it, sources earn it
		if s.ID.Side == admm.Source {
			sign = -1
		}
		edges := p.Graph.Incidence()[n]
		nu := math.Inf(-1)
		for k, e := range edges {
			nu = max(nu, s.Utilities[k].Slope(plan[e])-sign*price[e])
		}
		switch {
		case len(edges) == 0:
			continue
		case math.IsInf(s.Bounds.Max, 1):
			nu = min(nu, 0)
		}
		sum += max(nu*s.Bounds.Min, nu*min(s.Bounds.Max, math.MaxFloat64))
		for k, e := range edges {
			u, v := s.Utilities[k], plan[e]
			most := min(s.Bounds.Max, p.Bounds(s.ID.Peer(s.Neighbours[k])).Max)
			slope := u.Slope(v) - sign*price[e] - nu
			sum += u.Value(v) - (sign*price[e]+nu)*v + max(-slope*v, slope*(most-v))
		}
	}
	return sum
}
