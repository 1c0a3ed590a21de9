package central

import (
	"context"
	"fmt"
	"math"

	"coupling/dp/admm"
	"coupling/ot/exact"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Optimum is an optimal plan.
type Optimum struct {
	Plan  []float64 // an amount an edge
	Value float64   // the social utility
	// Gap bounds how much better any plan can be.
	Gap float64
}

// Solve returns the optimum: Linear where all utilities are linear, else Concave. Errors: those of Problem.Check, and a cancelled
// context.
func Solve(ctx context.Context, p admm.Problem) (Optimum, error) {
	for _, us := range [][]admm.Utility{p.TargetUtility, p.SourceUtility} {
		for _, u := range us {
			if _, ok := u.(admm.Linear); !ok {
				return Concave(ctx, p)
			}
		}
	}
	return Linear(ctx, p)
}

// parts of a network with all nodes split in two: first the amounts they must have, then those they
// may have, then a dummy.
type parts struct {
	p        admm.Problem
	cost     *mat.Dense
	a, b     []float64
	t, s     int
	maximum  float64 // the largest total utility of a unit
	forbid   float64
	capacity [2][]float64
}

// Linear returns the optimum of linear utilities by the network simplex. The plan is a vertex. Errors: a utility that is not Linear,
// those of Problem.Check. Memory: (2·targets + 1) × (2·sources + 1) costs.
func Linear(ctx context.Context, p admm.Problem) (Optimum, error) {
	if err := p.Check(); err != nil {
		return Optimum{}, err
	}
	q := parts{p: p, t: p.Graph.Targets, s: p.Graph.Sources}
	q.masses()
	if err := q.costs(); err != nil {
		return Optimum{}, err
	}
	if floats.Sum(q.a[:2*q.t]) == 0 || floats.Sum(q.b[:2*q.s]) == 0 { // no source may give, or no target receive
		return Optimum{Plan: make([]float64, len(p.Graph.Edges))}, nil
	}
	solution, err := exact.Simplex{}.Solve(ctx, q.a, q.b, exact.Matrix(q.cost))
	if err != nil {
		return Optimum{}, err
	}
	if solution.Status != exact.Optimal {
		return Optimum{}, fmt.Errorf("central: simplex: %v", solution.Status)
	}
	return q.plan(solution)
}

// masses gives the parts of each node their masses; an infinite Max is replaced by the total that
// all neighbours can bring.
func (q *parts) masses() {
	q.capacity = [2][]float64{make([]float64, q.t), make([]float64, q.s)}
	for _, e := range q.p.Graph.Edges {
		q.capacity[admm.Target][e.Target] += q.p.Bounds(admm.ID{Side: admm.Source, Index: e.Source}).Max
		q.capacity[admm.Source][e.Source] += q.p.Bounds(admm.ID{Side: admm.Target, Index: e.Target}).Max
	}
	mass := func(side admm.Side, n int) []float64 {
		out := make([]float64, 2*n+1)
		for i := range n {
			b := q.p.Bounds(admm.ID{Side: side, Index: i})
			out[i], out[n+i] = b.Min, max(0, min(b.Max, max(b.Min, q.capacity[side][i]))-b.Min)
		}
		return out
	}
	q.a, q.b = mass(admm.Target, q.t), mass(admm.Source, q.s)
	for _, v := range q.b[:2*q.s] {
		q.a[2*q.t] += v
	}
	for _, v := range q.a[:2*q.t] {
		q.b[2*q.s] += v
	}
}

// costs are minus utilities on edges, 0 between optional amounts and the dummies, and more than any
// gain elsewhere.
func (q *parts) costs() error {
	theta := make([]float64, len(q.p.Graph.Edges))
	for e := range theta {
		for _, us := range [][]admm.Utility{q.p.TargetUtility, q.p.SourceUtility} {
			if us == nil {
				continue
			}
			u, ok := us[e].(admm.Linear)
			if !ok {
				return fmt.Errorf("central: edge %d: %T: must be Linear: %w", e, us[e], admm.ErrParameter)
			}
			theta[e] += u.A
		}
		q.maximum = max(q.maximum, theta[e])
	}
	// An augmenting cycle meets each part of a node at most once, so it gains at most maximum for each.
	q.forbid = (q.maximum + 1) * float64(2*(q.t+q.s)+3)
	q.cost = mat.NewDense(2*q.t+1, 2*q.s+1, nil)
	for i := range 2*q.t + 1 {
		for j := range 2*q.s + 1 {
			switch {
			case i == 2*q.t && j >= q.s, j == 2*q.s && i >= q.t:
				q.cost.Set(i, j, 0)
			default:
				q.cost.Set(i, j, q.forbid)
			}
		}
	}
	for k, e := range q.p.Graph.Edges {
		for _, i := range []int{e.Target, q.t + e.Target} {
			for _, j := range []int{e.Source, q.s + e.Source} {
				q.cost.Set(i, j, -theta[k])
			}
		}
	}
	return nil
}

// plan reads the amounts off the arcs.
func (q *parts) plan(s *exact.Solution) (Optimum, error) {
	at := map[admm.Edge]int{}
	for k, e := range q.p.Graph.Edges {
		at[e] = k
	}
	out := Optimum{Plan: make([]float64, len(q.p.Graph.Edges)), Gap: max(0, s.Certificate.Bound())}
	for _, arc := range s.Plan.Arcs {
		if arc.I == 2*q.t || arc.J == 2*q.s {
			if q.cost.At(arc.I, arc.J) == q.forbid && arc.Mass > 1e-9*s.Certificate.Mass {
				return out, fmt.Errorf("central: %w", admm.ErrInfeasible)
			}
			continue
		}
		k, ok := at[admm.Edge{Target: arc.I % q.t, Source: arc.J % q.s}]
		if !ok {
			return out, fmt.Errorf("central: %w", admm.ErrInfeasible)
		}
		out.Plan[k] += arc.Mass
	}
	out.Value = q.p.Utility(out.Plan)
	if math.IsNaN(out.Value) {
		return out, fmt.Errorf("central: value is not a number")
	}
	return out, nil
}
