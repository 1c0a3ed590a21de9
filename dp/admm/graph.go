package admm

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Side is a side of the network.
type Side int

const (
	// Target nodes receive resources.
	Target Side = iota
	// Source nodes give resources.
	Source
)

// of takes the one of its side.
func of[T any](s Side, target, source T) T {
	if s == Source {
		return source
	}
	return target
}

// String names the side.
func (s Side) String() string {
	return of(s, "target", "source")
}

// ID names a node: a side and an index on it.
type ID struct {
	Side  Side `json:"side"`
	Index int  `json:"index"`
}

// String is for example "target 3".
func (id ID) String() string { return fmt.Sprintf("%v %d", id.Side, id.Index) }

// Peer returns the node of the other side with an index.
func (id ID) Peer(index int) ID { return ID{1 - id.Side, index} }

// Edge joins a target to a source.
type Edge struct{ Target, Source int }

// Graph is a bipartite network, complete or not. Edges are sorted by target and then by source,
// without repetitions; plans are vectors over them. Make one with Complete, Random or Edges.
type Graph struct {
	Targets, Sources int
	Edges            []Edge
}

// Complete joins every target to every source.
func Complete(targets, sources int) Graph {
	g := Graph{Targets: targets, Sources: sources, Edges: make([]Edge, 0, targets*sources)}
	for x := range targets {
		for y := range sources {
			g.Edges = append(g.Edges, Edge{x, y})
		}
	}
	return g
}

// Random joins each pair with probability p, independently, and a node that got no edge to one
// uniform node of the other side. Errors: no nodes on a side, p not in [0, 1], a nil rng. Cost:
// targets × sources draws.
func Random(rng *rand.Rand, targets, sources int, p float64) (Graph, error) {
	switch {
	case targets < 1 || sources < 1:
		return Graph{}, bad("targets = %d, sources = %d: must be at least 1", targets, sources)
	case !(p >= 0 && p <= 1):
		return Graph{}, bad("p = %v: must be in [0, 1]", p)
	case rng == nil:
		return Graph{}, bad("rng = nil")
	}
	var edges []Edge
	joined := [2][]bool{make([]bool, targets), make([]bool, sources)}
	join := func(x, y int) {
		edges = append(edges, Edge{x, y})
		joined[Target][x], joined[Source][y] = true, true
	}
	for x := range targets {
		for y := range sources {
			if rng.Float64() < p {
				join(x, y)
			}
		}
		if !joined[Target][x] {
			join(x, rng.IntN(sources))
		}
	}
	for y := range sources {
		if !joined[Source][y] {
			join(rng.IntN(targets), y)
		}
	}
	return Edges(targets, sources, edges)
}

// Edges returns the network with the given edges, in any order. Errors: an end out of range, a repeated
// edge.
func Edges(targets, sources int, edges []Edge) (Graph, error) {
	g := Graph{Targets: targets, Sources: sources, Edges: slices.Clone(edges)}
	slices.SortFunc(g.Edges,
		func(a, b Edge) int { return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Source, b.Source)) })
	return g, g.check()
}

func (g Graph) check() error {
	if g.Targets < 1 || g.Sources < 1 {
		return bad("Targets = %d, Sources = %d: must be at least 1", g.Targets, g.Sources)
	}
	for i, e := range g.Edges {
		switch {
		case e.Target < 0 || e.Target >= g.Targets || e.Source < 0 || e.Source >= g.Sources:
			return bad("Edges[%d] = %v: must join a target in 0..%d and a source in 0..%d", i, e, g.Targets-1,
				g.Sources-1)
		case i > 0 && e == g.Edges[i-1]:
			return bad("Edges[%d] = %v: is there twice", i, e)
		case i > 0 && (e.Target < g.Edges[i-1].Target ||
			e.Target == g.Edges[i-1].Target && e.Source < g.Edges[i-1].Source):
			return bad("Edges[%d] = %v: must be sorted by target and source; the function Edges sorts", i, e)
		}
	}
	return nil
}

// Nodes lists the nodes: the targets and then the sources.
func (g Graph) Nodes() []ID {
	ids := make([]ID, 0, g.Targets+g.Sources)
	for i := range g.Targets + g.Sources {
		ids = append(ids, g.node(i))
	}
	return ids
}

// node returns the node at a place of Nodes.
func (g Graph) node(i int) ID {
	if i < g.Targets {
		return ID{Target, i}
	}
	return ID{Source, i - g.Targets}
}

// Incidence lists the edges of every node in the order of Nodes, those of one node by increasing
// index of the other end.
func (g Graph) Incidence() [][]int32 {
	count := make([]int, g.Targets+g.Sources)
	for _, e := range g.Edges {
		count[e.Target]++
		count[g.Targets+e.Source]++
	}
	store := make([]int32, 2*len(g.Edges))
	out := make([][]int32, len(count))
	for n, c := range count {
		out[n], store = store[:0:c], store[c:]
	}
	for i, e := range g.Edges {
		out[e.Target] = append(out[e.Target], int32(i))
		s := g.Targets + e.Source
		out[s] = append(out[s], int32(i))
	}
	return out
}
