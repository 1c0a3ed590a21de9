package semidual

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device/cpu"
	"coupling/lab/logspace"
	"coupling/ot/internal/geometry"
	"coupling/ot/internal/rows"
)

// leafSize is the number of points in a leaf of a tree; the last leaf may have fewer.
const leafSize = 16

// tree is a k-d tree over points. Its nodes are ranges of an order of the points, cut in half
// across the widest side of their box.
type tree struct {
	order []int // the point at each place
	nodes []node
	// points has the coordinates of the points of each leaf, coordinate by coordinate.
	points []float64
}

// node is a range of places, with the box around its points.
type node struct {
	rows.Span
	kids           [2]int // 0 in a leaf
	centre, radius []float64
	logWeight      float64 // the least among positive weights
}

func newTree(x *mat.Dense, weights []float64) *tree {
	t := &tree{order: make([]int, len(weights))}
	for i := range t.order {
		t.order[i] = i
	}
	t.add(x, weights, rows.Span{Lo: 0, Hi: len(weights)})
	for leaf := range slices.Chunk(t.order, leafSize) {
		for k := range x.RawMatrix().Cols {
			for _, i := range leaf {
				t.points = append(t.points, x.At(i, k))
			}
		}
	}
	return t
}

// add appends the node of a range and those below it, and returns its index.
func (t *tree) add(x *mat.Dense, weights []float64, r rows.Span) int {
	d := x.RawMatrix().Cols
	n := node{Span: r, centre: make([]float64, d), radius: make([]float64, d), logWeight: math.Inf(1)}
	points, widest := t.order[r.Lo:r.Hi], 0
	for k := range d {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, i := range points {
			lo, hi = min(lo, x.At(i, k)), max(hi, x.At(i, k))
		}
		n.centre[k] = lo + (hi-lo)/2
		if n.radius[k] = max(hi-n.centre[k], n.centre[k]-lo); n.radius[k] > n.radius[widest] {
			widest = k
		}
	}
	for _, i := range points {
		if weights[i] > 0 {
			n.logWeight = min(n.logWeight, logspace.Log(weights[i]))
		}
	}
	at := len(t.nodes)
	t.nodes = append(t.nodes, n)
	if len(points) <= leafSize {
		return at
	}
	slices.SortFunc(points, func(i, j int) int { return cmp.Compare(x.At(i, widest), x.At(j, widest)) })
	half := r.Lo + (len(points)/2+leafSize-1)/leafSize*leafSize
	left := t.add(x, weights, rows.Span{Lo: r.Lo, Hi: half})
	t.nodes[at].kids = [2]int{left, t.add(x, weights, rows.Span{Lo: half, Hi: r.Hi})}
	return at
}

// top returns the largest potential less the cost to z of the points in a range.
func (t *tree) top(potential []float64, r rows.Span, z []float64, form cpu.Cost[float64]) float64 {
	var buf [leafSize]float64
	d, most := len(z), math.Inf(-1)
	for lo := r.Lo; lo < r.Hi; lo += leafSize {
		hi := min(lo+leafSize, r.Hi)
		most = max(most, kern.PointLogits(buf[:hi-lo], potential[lo:hi], z, t.points[lo*d:hi*d], form, 1))
	}
	return most
}

// pattern is the set of pairs that may carry mass: for each leaf of sources, ranges of targets.
// Pairs outside it have log T_ij below log min(aᵢ, bⱼ) by a cut plus slack at the β⁰ it was made
// for, and by the cut until potentials have moved by slack against each other.
type pattern struct {
	eps, slack float64
	base       []float64 // β⁰
	ptr        []int     // the ranges of leaf k are those from ptr[k] to ptr[k+1]
	ranges     []rows.Span
	pairs      int
}

// search looks for the pairs of a pattern in two trees.
type search struct {
	*pattern
	rows, cols *tree
	cloud      *geometry.Cloud // in the order of the trees
	form       cpu.Cost[float64]
	alpha      []float64
	cut        float64 // less than 0
	most       int
}

// block adds the ranges of the leaves below node k of the sources, given the nodes of targets that
// may have mass with it. It reports false where there are too many pairs.
func (s *search) block(k int, among []int) bool {
	n := &s.rows.nodes[k]
	var kept []int
	for _, j := range among {
		kept = s.keep(kept, n, j)
	}
	if n.kids[0] > 0 {
		return s.block(n.kids[0], kept) && s.block(n.kids[1], kept)
	}
	first := len(s.ranges)
	for _, j := range kept {
		r := s.cols.nodes[j].Span
		if last := len(s.ranges) - 1; last >= first && s.ranges[last].Hi == r.Lo {
			s.ranges[last].Hi = r.Hi
		} else {
			s.ranges = append(s.ranges, r)
		}
		s.pairs += (n.Hi - n.Lo) * (r.Hi - r.Lo)
	}
	s.ptr = append(s.ptr, len(s.ranges))
	return s.pairs <= s.most
}

// keep appends to kept the nodes at or below j that may have mass with n and are not larger than it.
func (s *search) keep(kept []int, n *node, j int) []int {
	m := &s.cols.nodes[j]
	if !s.near(n, m) {
		return kept
	}
	if m.kids[0] == 0 || m.Hi-m.Lo <= n.Hi-n.Lo {
		return append(kept, j)
	}
	return s.keep(s.keep(kept, n, m.kids[0]), n, m.kids[1])
}

// near reports whether some pair may carry mass. With X and Y the centres of the boxes
//
//	c(x, y) = c(x, Y) + c(X, y) − c(X, Y) + Δ,
//
// where |Δ| ≤ 2 r r' for the square of the difference of a coordinate, r and r' being the radii of
// the boxes, and ≤ 2 min(r, r') for its absolute value, 0 where the boxes do not overlap.
func (s *search) near(n, m *node) bool {
	bound := s.cloud.Kind.Cost(n.centre, m.centre)
	for k, r := range n.radius {
		bound += 2 * math.Abs(s.form.Square) * r * m.radius[k]
		if math.Abs(n.centre[k]-m.centre[k]) < r+m.radius[k] {
			bound += 2 * math.Abs(s.form.Abs) * min(r, m.radius[k])
		}
	}
	bound += s.rows.top(s.alpha, n.Span, m.centre, s.form) + s.cols.top(s.base, m.Span, n.centre, s.form)
	return bound >= s.eps*(s.cut+min(n.logWeight, m.logWeight))
}
