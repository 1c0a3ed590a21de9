package simplex

import (
	"math"
	"slices"

	"coupling/lab/device/cpu"
)

// kern is the set of vector kernels in use.
var kern cpu.Kernels[float64]

// A shortlist has the arcs of a source that are worth a look: those of least C_ij − g_j for some g, or every
// allowed pair of a geometry that lists them. Other targets had at least C_ij − g_j = rest, +Inf where there
// are none.
type shortlist struct {
	to   []int32
	cost []float64
	rest float64
	made int // the number of paths when it was made
}

const (
	// shortlistSize is the number of arcs of a list, up to four times as many where targets outnumber sources.
	shortlistSize = 16
	// blocksPerArc is how many blocks of a row are looked at for each arc of its list.
	blocksPerArc = 2
)

// shortlist returns the arcs of source i of least C_ij − g_j, size of them or a few more. It takes the size-th
// least of the least keys of blocks as a bound. Of equal keys it takes those that follow column i, so that
// sources whose costs are alike do not all list the same targets.
func (s *simplex) shortlist(i int, g []float64, size int) shortlist {
	to, row := s.allArcs(i)
	if s.listed != nil {
		return shortlist{to: to, cost: row, rest: math.Inf(1)}
	}
	if size*blocksPerArc >= s.m {
		return shortlist{to: to, cost: slices.Clone(row), rest: math.Inf(1)}
	}
	width := (s.m + size*blocksPerArc - 1) / (size * blocksPerArc)
	tops := s.tops[:0]
	for lo := 0; lo < s.m; lo += width {
		hi := min(lo+width, s.m)
		tops = append(tops, -kern.RowMax(g[lo:hi], row[lo:hi], 1))
	}
	s.tops = append(tops, tops...)
	slices.Sort(tops)
	bound := tops[min(size, len(tops))-1]
	tops = s.tops[len(tops):]
	found := s.found[:0]
	for at, k := i*len(tops)/s.n, 0; k < len(tops); k++ {
		if tops[at] < bound || tops[at] == bound && len(found) < size {
			lo := at * width
			for j, c := range row[lo:min(lo+width, s.m)] {
				if key := c - g[lo+j]; key < bound || key == bound && len(found) < size {
					found = append(found, candidate{int32(i), int32(lo + j), c, key})
				}
			}
		}
		if at++; at == len(tops) {
			at = 0
		}
	}
	if s.found = found; len(found) > 2*size {
		slices.SortFunc(found, compareCandidates)
		bound, found = found[size].key, found[:size]
	}
	l := shortlist{make([]int32, len(found)), make([]float64, len(found)), bound, s.pivots}
	for k, o := range found {
		l.to[k], l.cost[k] = o.j, o.cost
	}
	return l
}

// makeLists makes the lists of sources with mass, for the potentials g.
func (s *simplex) makeLists(g []float64) {
	s.list = make([]shortlist, s.n)
	for i := range s.list {
		if !s.supply.A[i].IsZero() {
			s.list[i] = s.shortlist(i, g, shortlistSize*max(1, min(s.m/s.n, 4)))
		}
	}
}

// allArcs returns every arc of source i, valid until another row is read unless the geometry lists it.
func (s *simplex) allArcs(i int) (to []int32, cost []float64) {
	if s.listed != nil {
		return s.listed.Arcs(i)
	}
	return s.all, s.row(i)[:s.m]
}

// Least returns the least of most and the C_ij − g_j of these arcs.
func Least(to []int32, cost, g []float64, most float64) float64 {
	cost = cost[:len(to)]
	for k, j := range to {
		if key := cost[k] - g[j]; key < most {
			most = key
		}
	}
	return most
}

// two returns the place of the first of these arcs of least C_ij − g_j, None where there is none, and the two
// least of these keys, which must be ≥ 0, +Inf where there are fewer. No branch depends on the data: half of them
// would be mispredicted; bits of floats ≥ 0 are in their order.
func two(to []int32, cost, g []float64) (at int, best, second float64) {
	first := int64(math.Float64bits(math.Inf(1)))
	next := first
	at = None
	cost = cost[:len(to)]
	for k, j := range to {
		key := int64(math.Float64bits(cost[k] - g[j]))
		if key < first {
			at = k
		}
		next = min(next, max(first, key))
		first = min(first, key)
	}
	return at, math.Float64frombits(uint64(first)), math.Float64frombits(uint64(next))
}

// least returns min_j C_ij − g_j.
func (s *simplex) least(i int, g []float64) float64 {
	to, cost := s.allArcs(i)
	if s.listed != nil {
		return Least(to, cost, g, math.Inf(1))
	}
	return -kern.RowMax(g, cost, 1)
}

// A queue is a heap of candidates, the one of least key first.
type queue []candidate

func (q *queue) push(o candidate) {
	h := append(*q, o)
	k := len(h) - 1
	for k > 0 && o.key < h[(k-1)/2].key {
		h[k] = h[(k-1)/2]
		k = (k - 1) / 2
	}
	h[k] = o
	*q = h
}

func (q *queue) pop() candidate {
	h := *q
	top, o := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*q = h
	for k := 0; len(h) > 0; {
		kid := 2*k + 1
		if kid+1 < len(h) && h[kid+1].key < h[kid].key {
			kid++
		}
		if kid >= len(h) || o.key <= h[kid].key {
			h[k] = o
			break
		}
		h[k], k = h[kid], kid
	}
	return top
}
