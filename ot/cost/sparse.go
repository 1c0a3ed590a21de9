package cost

import (
	"math"

	"coupling/ot/internal/fault"
)

// Listed is a Geometry that lists the allowed pairs of each source and forbids all others. Exact solves,
// entropic solves and products with their plans cost the pairs, not n·m, in time and in memory.
type Listed interface {
	Geometry
	// Arcs returns the targets of source i, in increasing order, and their costs, which the caller does not change.
	Arcs(i int) (targets []int32, costs []float64)
}

// Graph is the geometry of a problem with few allowed pairs.
type Graph struct {
	m       int
	starts  []int
	targets []int32
	costs   []float64
	invalid error
}

// Sparse is the geometry of n sources and m targets in which only the listed pairs are allowed, in compressed
// sparse rows: source i has the targets targets[starts[i]:starts[i+1]], in increasing order, at the costs at
// the same places. Costs are read, not copied.
func Sparse(m int, starts, targets []int, costs []float64) *Graph {
	g := &Graph{m: m, starts: starts, targets: make([]int32, len(targets)), costs: costs}
	g.invalid = g.check(targets)
	return g
}

// check reports lists that are not compressed sparse rows, and keeps the targets.
func (g *Graph) check(targets []int) error {
	last := len(g.starts) - 1
	if last < 1 || g.m < 1 {
		return fault.OT(fault.ErrShape, "Sparse: %d starts, m = %d: must have a source and a target", last+1, g.m)
	}
	if g.starts[0] != 0 || g.starts[last] != len(targets) || len(targets) != len(g.costs) {
		return fault.OT(fault.ErrShape,
			"Sparse: starts from %d to %d, %d targets, %d costs: must go from 0 to their number",
			g.starts[0], g.starts[last], len(targets), len(g.costs))
	}
	for i, lo := range g.starts[:last] {
		hi := g.starts[i+1]
		if hi < lo || hi > len(targets) {
			return fault.OT(fault.ErrShape, "Sparse: starts[%d] = %d after %d: must not fall", i+1, hi, lo)
		}
		before := -1
		for k, j := range targets[lo:hi] {
			if j <= before || j >= g.m {
				return fault.OT(fault.ErrShape, "Sparse: target %d of source %d after %d: must rise, below %d",
					j, i, before, g.m)
			}
			before, g.targets[lo+k] = j, int32(j)
		}
	}
	return nil
}

// Dims returns the number of sources and of targets.
func (g *Graph) Dims() (n, m int) { return len(g.starts) - 1, g.m }

// Arcs returns the targets of source i and their costs.
func (g *Graph) Arcs(i int) (targets []int32, costs []float64) {
	lo, hi := g.starts[i], g.starts[i+1]
	return g.targets[lo:hi:hi], g.costs[lo:hi:hi]
}

// Row fills buf with the costs of source i, +Inf for pairs that are not listed.
func (g *Graph) Row(i int, buf []float64) []float64 {
	for j := range buf {
		buf[j] = math.Inf(1)
	}
	to, costs := g.Arcs(i)
	for k, j := range to {
		buf[j] = costs[k]
	}
	return buf
}

// Frugal reports that solvers are to keep memory of the order of the pairs.
func (g *Graph) Frugal() bool { return true }

// Validate reports lists that cannot be used.
func (g *Graph) Validate() error {
	if g == nil {
		return fault.OT(fault.ErrShape, "geometry is a nil *cost.Graph")
	}
	return g.invalid
}
