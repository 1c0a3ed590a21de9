package central

import (
	"cmp"
	"context"
	"math"
	"slices"

	"coupling/dp/admm"
	"coupling/ot"
	"coupling/ot/cost"
	"coupling/ot/exact"
)

// isLinear reports whether every utility is linear.
func isLinear(p admm.Problem) bool {
	other := func(u admm.Utility) bool { _, ok := u.(admm.Linear); return !ok }
	return !slices.ContainsFunc(p.TargetUtility, other) && !slices.ContainsFunc(p.SourceUtility, other)
}

// transport solves a problem of linear utilities, which has been checked, by the simplex method over the pairs of its
// graph. Each node is two atoms, what it must have and what more it may have. The latter may go to, or come from, an
// atom for what is left over, of which there is one on each side.
func transport(ctx context.Context, p admm.Problem) (Optimum, error) {
	targets, sources := p.Graph.Targets, p.Graph.Sources
	var masses [2][]float64 // of the atoms of targets and of sources
	var totals [2]float64
	incidence := p.Graph.Incidence()
	for n, id := range p.Graph.Nodes() {
		b, most := p.Bounds(id), 0.
		for _, e := range incidence[n] {
			edge := p.Graph.Edges[e]
			peer := admm.ID{Side: admm.Source, Index: edge.Source}
			if id.Side == admm.Source {
				peer = admm.ID{Side: admm.Target, Index: edge.Target}
			}
			most += p.Bounds(peer).Max
		}
		most = min(most, b.Max)
		masses[id.Side] = append(masses[id.Side], b.Min, max(0, most-b.Min))
		totals[id.Side] += max(most, b.Min)
	}
	a, b := append(masses[admm.Target], totals[admm.Source]), append(masses[admm.Source], totals[admm.Target])
	starts, to, costs, at := []int{0}, []int(nil), []float64(nil), 0
	for i := range targets {
		end := at
		for end < len(p.Graph.Edges) && p.Graph.Edges[end].Target == i {
			end++
		}
		for k := range 2 {
			for e := at; e < end; e++ {
				j, worth := p.Graph.Edges[e].Source, worthOf(p, e)
				to, costs = append(to, 2*j, 2*j+1), append(costs, -worth, -worth)
			}
			if k == 1 {
				to, costs = append(to, 2*sources), append(costs, 0)
			}
			starts = append(starts, len(to))
		}
		at = end
	}
	for j := range sources {
		to, costs = append(to, 2*j+1), append(costs, 0)
	}
	to, costs = append(to, 2*sources), append(costs, 0)
	g := cost.Sparse(2*sources+1, append(starts, len(to)), to, costs)
	s, err := exact.Simplex{}.Solve(ctx, ot.Problem{Geometry: g, A: a, B: b})
	if err != nil {
		return Optimum{}, err
	}
	plan := make([]float64, len(p.Graph.Edges))
	for _, arc := range s.Arcs {
		if arc.I < 2*targets && arc.J < 2*sources {
			e, _ := slices.BinarySearchFunc(p.Graph.Edges, admm.Edge{Target: arc.I / 2, Source: arc.J / 2},
				func(x, y admm.Edge) int {
					return cmp.Or(cmp.Compare(x.Target, y.Target), cmp.Compare(x.Source, y.Source))
				})
			plan[e] += arc.Mass
		}
	}
	plan = p.Repair(plan)
	value := p.Utility(plan)
	return Optimum{Plan: plan, Value: value, Gap: s.Certificate.Bound() + math.Abs(value+s.Value)}, nil
}

// worthOf returns the utility of a unit on edge e.
func worthOf(p admm.Problem, e int) (sum float64) {
	for _, us := range [][]admm.Utility{p.TargetUtility, p.SourceUtility} {
		if us != nil {
			sum += us[e].Slope(0)
		}
	}
	return sum
}
