package simplex

import (
	"cmp"
	"math"
	"slices"
)

// A candidate is an arc that may enter a basis. Key orders candidates: the smaller, the better.
type candidate struct {
	i, j      int32
	cost, key float64
}

func compareCandidates(x, y candidate) int {
	return cmp.Or(cmp.Compare(x.key, y.key), cmp.Compare(x.i, y.i), cmp.Compare(x.j, y.j))
}

// insert puts o in its place in a list sorted by key, of at most size entries, and drops what falls off.
func insert(list []candidate, o candidate, size int) []candidate {
	if len(list) < size {
		list = append(list, o)
	} else if o.key >= list[len(list)-1].key {
		return list
	}
	h := len(list) - 1
	for ; h > 0 && list[h-1].key > o.key; h-- {
		list[h] = list[h-1]
	}
	list[h] = o
	return list
}

const (
	// starters is the number of arcs that a source contributes to the first pass of the greedy start;
	// the remaining mass is filled source by source.
	starters = 4
	// blockShare is the number of arcs of a block over the root of their number. It was chosen on the timing problems.
	blockShare = 3
)

// start makes the lists and builds a first basis. Given an estimate g of the dual, arcs of small C_ij − g_j are filled
// greedily. Any g is valid; a better one needs fewer pivots afterwards.
func (s *simplex) start(g []float64) {
	s.perturb()
	for j := range s.b {
		if s.b[j].IsZero() {
			g[j] = math.Inf(-1)
		}
	}
	s.makeLists(g)
	var candidates []candidate
	arcs := 0
	for i := range s.n {
		arcs += len(s.list[i].to)
		best := s.byKey(i, g)
		candidates = append(candidates, best[:min(starters, len(best))]...)
	}
	s.block = max(int(blockShare*math.Sqrt(float64(arcs))), 10)
	slices.SortFunc(candidates, compareCandidates)
	f := greedy{simplex: s, a: slices.Clone(s.a), b: slices.Clone(s.b)}
	for _, o := range candidates {
		f.fill(o)
	}
	for i := range s.n {
		if !f.a[i].IsZero() {
			f.fillSource(int32(i), g)
		}
	}
	s.buildTree(f.arcs)
}

// byKey returns the arcs of the list of source i, that of least C_ij − g_j first.
func (s *simplex) byKey(i int, g []float64) []candidate {
	l := s.list[i]
	s.found = s.found[:0]
	for k, j := range l.to {
		s.found = append(s.found, candidate{int32(i), j, l.cost[k], l.cost[k] - g[j]})
	}
	slices.SortFunc(s.found, compareCandidates)
	return s.found
}

// A greedy fills arcs as far as supply and demand allow. Because of the perturbation an arc
// exhausts either its source or its target, and both only at the very end, so the arcs form a
// spanning tree.
type greedy struct {
	*simplex
	a, b []Mass
	arcs []arcFlow
	live []int32 // the targets not yet full, made when first needed
}

type arcFlow struct {
	i, j int32
	cost float64
	flow Mass
}

func (f *greedy) fill(o candidate) {
	flow := f.a[o.i]
	if f.b[o.j].Less(flow) {
		flow = f.b[o.j]
	}
	if flow.IsZero() {
		return
	}
	f.a[o.i] = f.a[o.i].Sub(flow)
	f.b[o.j] = f.b[o.j].Sub(flow)
	f.arcs = append(f.arcs, arcFlow{o.i, o.j, o.cost, flow})
}

// fillSource sends the remaining mass of source i to the cheapest targets that are not full: those of its list,
// then others.
func (f *greedy) fillSource(i int32, g []float64) {
	for _, o := range f.byKey(int(i), g) {
		f.fill(o)
	}
	if f.a[i].IsZero() {
		return
	}
	if f.live == nil {
		f.live = targets(f.m)
	}
	f.live = slices.DeleteFunc(f.live, func(j int32) bool { return f.b[j].IsZero() })
	var others queue
	row := f.row(int(i))
	for _, j := range f.live {
		others.push(candidate{i, j, row[j], row[j] - g[j]})
	}
	for !f.a[i].IsZero() {
		f.fill(others.pop())
	}
}

// buildTree makes the tree of a spanning set of arcs.
func (s *simplex) buildTree(arcs []arcFlow) {
	t := s.tree
	near := adjacency(arcs, s.n, len(t.node))
	t.root = int32(slices.IndexFunc(s.a, func(x Mass) bool { return !x.IsZero() }))
	t.node[t.root].parent = None
	order := make([]int32, 0, len(arcs)+1)
	for stack := []int32{t.root}; len(stack) > 0; {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		order = append(order, v)
		for _, k := range near[v] {
			e := arcs[k]
			w := e.i + int32(s.n) + e.j - v // the other end
			if w != t.node[v].parent {
				t.node[w].flow, t.node[w].cost, t.node[w].parent = e.flow, e.cost, v
				stack = append(stack, w)
			}
		}
	}
	t.count = len(order)
	for k, v := range order {
		t.link(v, order[(k+1)%len(order)])
		t.node[v].size, t.node[v].last = 1, v
	}
	for _, v := range slices.Backward(order[1:]) {
		p := &t.node[t.node[v].parent]
		p.size += t.node[v].size
		if p.last == t.node[v].parent { // backward, so v is the last child
			p.last = t.node[v].last
		}
	}
	t.refresh()
}

// adjacency lists the arcs at each node.
func adjacency(arcs []arcFlow, n, nodes int) [][]int32 {
	near := make([][]int32, nodes)
	for k, e := range arcs {
		near[e.i] = append(near[e.i], int32(k))
		near[n+int(e.j)] = append(near[n+int(e.j)], int32(k))
	}
	return near
}
