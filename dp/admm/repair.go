package admm

import (
	"math"

	"coupling/dp/admm/internal/flow"
)

// Repair returns a plan that meets all bounds, up to the rounding of sums, near a plan that almost
// does: amounts below 0 become 0, nodes above their Max are scaled down, and missing amounts are
// moved along augmenting paths, which keep all other totals within their bounds. It does not change
// a feasible plan. The problem must have passed Check.
func (p Problem) Repair(plan []float64) []float64 {
	out := make([]float64, len(plan))
	for e, v := range plan {
		out[e] = max(v, 0)
	}
	for _, side := range []Side{Target, Source} {
		p.scaleDown(out, side)
	}
	for _, side := range []Side{Target, Source} {
		p.fill(out, side)
	}
	return out
}

// end is the index of an edge's node on a side.
func (e Edge) end(s Side) int {
	if s == Target {
		return e.Target
	}
	return e.Source
}

func (p Problem) totals(plan []float64, side Side) []float64 {
	t, s := p.Totals(plan)
	if side == Target {
		return t
	}
	return s
}

func (p Problem) scaleDown(plan []float64, side Side) {
	totals := p.totals(plan, side)
	for i, e := range p.Graph.Edges {
		n := e.end(side)
		if most := p.Bounds(ID{side, n}).Max; totals[n] > most {
			plan[i] *= most / totals[n]
		}
	}
}

// fill brings every node of the side to its Min. A path begins at a node of the other side that may have more, or at one of this side
// that has more than its Min; along it amounts rise and fall in turn, so that totals change at its ends only.
func (p Problem) fill(plan []float64, side Side) {
	totals, others := p.totals(plan, side), p.totals(plan, 1-side)
	lack := 0.0
	for i, t := range totals {
		lack = max(lack, p.Bounds(ID{side, i}).Min*(1-rounding)-t)
	}
	if lack <= 0 {
		return
	}
	at := [2]int{2, 2 + p.Graph.Targets}
	f := flow.New(2+p.Graph.Targets+p.Graph.Sources, 0, 1, len(plan)+p.Graph.Targets+p.Graph.Sources)
	for i, t := range others {
		f.Add(0, at[1-side]+i, max(0, p.Bounds(ID{1 - side, i}).Max-t), 0)
	}
	for i, t := range totals {
		if spare := t - p.Bounds(ID{side, i}).Min; spare > 0 {
			f.Add(0, at[side]+i, spare, 0)
		} else {
			f.Add(at[side]+i, 1, -spare, 0)
		}
	}
	arcs := make([]int, len(plan))
	for i, e := range p.Graph.Edges {
		arcs[i] = f.Add(at[1-side]+e.end(1-side), at[side]+e.end(side), math.MaxFloat64, plan[i])
	}
	f.Run()
	for i, a := range arcs {
		plan[i] = f.Back(a)
	}
}
