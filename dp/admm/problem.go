package admm

import (
	"fmt"
	"math"
	"slices"

	"coupling/dp/admm/internal/flow"
	"coupling/dp/internal/check"
)

// Problem is a transport problem on a network: over plans v ≥ 0, one amount an edge,
//
//	maximise Σ t_e(v_e) + s_e(v_e)  subject to  Min ≤ Σ v_e ≤ Max  at every target and every source.
//
// Of targets, TargetUtility[e] is t_e; of sources, SourceUtility[e] is s_e, e counting Graph.Edges.
// Nil utilities are zero, nil bounds 0 and +Inf, but an edge needs a finite Max at one of its ends.
type Problem struct {
	Graph                        Graph
	TargetUtility, SourceUtility []Utility
	TargetBounds, SourceBounds   []Bounds
}

// Check returns an error for a problem that is malformed, unbounded or infeasible. If no plan meets
// the bounds, it is an *InfeasibleError with the violated cut. Cost: a maximum flow for each side
// that has a Min above 0, else a pass.
func (p Problem) Check() error {
	if err := p.Graph.check(); err != nil {
		return err
	}
	edges := len(p.Graph.Edges)
	for side, us := range [][]Utility{p.TargetUtility, p.SourceUtility} {
		if us != nil && len(us) != edges {
			return bad("%v utilities: %d for %d edges", Side(side), len(us), edges)
		}
		for e, u := range us {
			if err := checkUtility(u); err != nil {
				return fmt.Errorf("%v utility of edge %d (target %d, source %d): %w", Side(side), e,
					p.Graph.Edges[e].Target, p.Graph.Edges[e].Source, err)
			}
		}
	}
	for side, bs := range [][]Bounds{p.TargetBounds, p.SourceBounds} {
		if want := p.size(Side(side)); bs != nil && len(bs) != want {
			return bad("%v bounds: %d for %d nodes", Side(side), len(bs), want)
		}
		for i, b := range bs {
			if err := b.check(); err != nil {
				return fmt.Errorf("bounds of %v: %w", ID{Side(side), i}, err)
			}
		}
	}
	for i, e := range p.Graph.Edges {
		if math.IsInf(p.Bounds(ID{Target, e.Target}).Max, 1) && math.IsInf(p.Bounds(ID{Source, e.Source}).Max, 1) {
			return bad("edge %d: target %d and source %d both have Max = +Inf: must be finite at one end", i,
				e.Target, e.Source)
		}
	}
	return p.feasible()
}

func (p Problem) size(s Side) int {
	return of(s, p.Graph.Targets, p.Graph.Sources)
}

// Bounds returns the bounds of a node.
func (p Problem) Bounds(id ID) Bounds {
	bs := of(id.Side, p.TargetBounds, p.SourceBounds)
	if bs == nil {
		return Bounds{0, math.Inf(1)}
	}
	return bs[id.Index]
}

// utilityOf returns the utility of one side on an edge.
func (p Problem) utilityOf(s Side, edge int) Utility {
	us := of(s, p.TargetUtility, p.SourceUtility)
	if us == nil {
		return Linear{}
	}
	return us[edge]
}

// Utility returns the social utility of a plan: Σ t_e(v_e) + s_e(v_e), with negative amounts taken as 0.
func (p Problem) Utility(plan []float64) float64 {
	sum := 0.0
	for e, v := range plan {
		v = max(v, 0)
		sum += p.utilityOf(Target, e).Value(v) + p.utilityOf(Source, e).Value(v)
	}
	return sum
}

// Totals returns the sums of a plan at every target and every source.
func (p Problem) Totals(plan []float64) (targets, sources []float64) {
	targets, sources = make([]float64, p.Graph.Targets), make([]float64, p.Graph.Sources)
	for i, e := range p.Graph.Edges {
		targets[e.Target] += plan[i]
		sources[e.Source] += plan[i]
	}
	return targets, sources
}

// Violation returns the largest amount by which a plan misses a bound or is negative.
func (p Problem) Violation(plan []float64) float64 {
	worst := 0.0
	for _, v := range plan {
		worst = max(worst, -v)
	}
	targets, sources := p.Totals(plan)
	for side, totals := range [][]float64{targets, sources} {
		for i, v := range totals {
			b := p.Bounds(ID{Side(side), i})
			worst = max(worst, b.Min-v, v-b.Max)
		}
	}
	return worst
}

// Specs returns what each node may know, in the order of Graph.Nodes.
func (p Problem) Specs() []Spec {
	ids, incidence := p.Graph.Nodes(), p.Graph.Incidence()
	out := make([]Spec, len(ids))
	for n, id := range ids {
		s := Spec{
			ID:         id,
			Bounds:     p.Bounds(id),
			Neighbours: make([]int, len(incidence[n])),
			Utilities:  make([]Utility, len(incidence[n])),
		}
		for k, e := range incidence[n] {
			s.Neighbours[k] = p.Graph.Edges[e].end(1 - id.Side)
			s.Utilities[k] = p.utilityOf(id.Side, int(e))
		}
		out[n] = s
	}
	return out
}

// InfeasibleError names a violated cut: the least total of Nodes exceeds the largest total of all
// their neighbours, Through. It wraps ErrInfeasible.
type InfeasibleError struct {
	Side    Side  // of Nodes
	Nodes   []int // their Min add up to Need
	Through []int // all neighbours of Nodes; their Max add up to Have
	Need    float64
	Have    float64
}

// Error names the cut.
func (e *InfeasibleError) Error() string {
	verb := of(e.Side, "must receive at least", "must give at least")
	other := of(e.Side, "can give at most", "can receive at most")
	return fmt.Sprintf("admm: %ss %v %s %.6g, and their neighbours, %ss %v, %s %.6g: %v", e.Side, e.Nodes, verb, e.Need,
		1-e.Side, e.Through, other, e.Have, ErrInfeasible)
}

// Unwrap returns ErrInfeasible.
func (e *InfeasibleError) Unwrap() error { return ErrInfeasible }

// rounding of sums of bounds, relative.
const rounding = 1e-12

// feasible decides by Hall's condition on each side: there is a plan if and only if every set of
// targets can be served by its neighbours and every set of sources can unload on its neighbours
// (Hoffman 1960 for the circulation; its cuts of finite capacity are of these two kinds). The set
// that fails is the cut of a maximum flow, and is summed once more before it is reported.
func (p Problem) feasible() error {
	var errs []error
	for _, side := range []Side{Target, Source} {
		f, nodes, _ := p.network(side, make([]float64, len(p.Graph.Edges)))
		reached := f.Run()
		for _, cut := range p.cuts(side, func(id ID) bool { return reached[nodes[id.Side]+id.Index] }) {
			if cut.Need > cut.Have*(1+rounding) {
				errs = append(errs, cut)
				break
			}
		}
	}
	return check.All(errs...)
}

// cuts splits a cut into parts without common edges, so that rounding in the sums of other parts
// cannot hide a violated one.
func (p Problem) cuts(side Side, reached func(ID) bool) []*InfeasibleError {
	incidence, first := p.Graph.Incidence(), [2]int{0, p.Graph.Targets}
	var out []*InfeasibleError
	seen := map[ID]bool{}
	for i := range p.size(side) {
		queue := []ID{{side, i}}
		cut := &InfeasibleError{Side: side}
		for len(queue) > 0 {
			id := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			if seen[id] || !reached(id) {
				continue
			}
			seen[id] = true
			if id.Side == side {
				cut.Nodes, cut.Need = append(cut.Nodes, id.Index), cut.Need+p.Bounds(id).Min
			} else {
				cut.Through, cut.Have = append(cut.Through, id.Index), cut.Have+p.Bounds(id).Max
			}
			for _, e := range incidence[first[id.Side]+id.Index] {
				queue = append(queue, id.Peer(p.Graph.Edges[e].end(1-id.Side)))
			}
		}
		if len(cut.Nodes) > 0 {
			slices.Sort(cut.Nodes)
			slices.Sort(cut.Through)
			out = append(out, cut)
		}
	}
	return out
}

// network is the flow problem of bringing side's nodes to their Min from a plan: flow begins at the
// nodes that lack something, and ends at nodes of the other side that may have more and at those of
// side that have more than their Min. nodes are the first of each side, arcs those of the edges,
// whose reverse is what the plan has there.
func (p Problem) network(side Side, plan []float64) (f *flow.Flow, nodes [2]int, arcs []int) {
	nodes = [2]int{2, 2 + p.Graph.Targets}
	f = flow.New(2+p.Graph.Targets+p.Graph.Sources, 0, 1, len(plan)+p.Graph.Targets+p.Graph.Sources)
	for i, t := range p.totals(plan, side) {
		if spare := t - p.Bounds(ID{side, i}).Min; spare > 0 {
			f.Add(nodes[side]+i, 1, spare, 0)
		} else {
			f.Add(0, nodes[side]+i, -spare, 0)
		}
	}
	for i, t := range p.totals(plan, 1-side) {
		f.Add(nodes[1-side]+i, 1, max(0, p.Bounds(ID{1 - side, i}).Max-t), 0)
	}
	for i, e := range p.Graph.Edges {
		arcs = append(arcs, f.Add(nodes[side]+e.end(side), nodes[1-side]+e.end(1-side), math.Inf(1), plan[i]))
	}
	return f, nodes, arcs
}

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
	return of(s, e.Target, e.Source)
}

func (p Problem) totals(plan []float64, side Side) []float64 {
	t, s := p.Totals(plan)
	return of(side, t, s)
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

// fill brings every node of the side to its Min. A path ends at a node of the other side that may
// have more, or at one of this side that has more than its Min; along it amounts rise and fall in
// turn, so that totals change at its ends only.
func (p Problem) fill(plan []float64, side Side) {
	lack := 0.0
	for i, t := range p.totals(plan, side) {
		lack = max(lack, p.Bounds(ID{side, i}).Min*(1-rounding)-t)
	}
	if lack <= 0 {
		return
	}
	f, _, arcs := p.network(side, plan)
	f.Run()
	for i, a := range arcs {
		plan[i] = f.Back(a)
	}
}
