package simplex

import (
	"math"
	"slices"

	"coupling/lab/device/cpu"
	"coupling/ot/internal/geometry"
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
	// shortlistSize is the number of arcs of a list, times the number of targets for each source where these are more.
	shortlistSize = 16
	// blocksPerArc is how many blocks of a row are looked at for each arc of its list.
	blocksPerArc = 2
)

// shortlist returns the arcs of source i of least C_ij − g_j, size of them or a few more. It takes the size-th
// least of the least keys of blocks as a bound. Of equal keys it takes those that follow column i, so that
// sources whose costs are alike do not all list the same targets.
func (s *simplex) shortlist(i int, g []float64, size int) shortlist {
	if s.listed != nil {
		return s.allArcs(i)
	}
	row := s.row(i)[:s.m]
	if size*blocksPerArc >= s.m {
		return shortlist{to: s.all, cost: slices.Clone(row), rest: math.Inf(1)}
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
			s.list[i] = s.shortlist(i, g, shortlistSize*max(1, s.m/s.n))
		}
	}
}

// allArcs returns every arc of source i, valid until another row is read unless the geometry lists it.
func (s *simplex) allArcs(i int) shortlist {
	l := shortlist{to: s.all, rest: math.Inf(1)}
	if s.listed != nil {
		l.to, l.cost = s.listed.Arcs(i)
	} else {
		l.cost = s.row(i)[:s.m]
	}
	return l
}

// least returns the least of most and the C_ij − g_j of the list.
func (l *shortlist) least(g []float64, most float64) float64 {
	cost := l.cost[:len(l.to)]
	for k, j := range l.to {
		if key := cost[k] - g[j]; key < most {
			most = key
		}
	}
	return most
}

// two returns the place of the first arc of least C_ij − g_j in the list, None in an empty one, and the two
// least of these keys, +Inf where there are fewer. No branch depends on the data: half of them would be
// mispredicted.
func (l *shortlist) two(g []float64) (at int, best, second float64) {
	first, next := ordered(math.Inf(1)), ordered(math.Inf(1))
	at = None
	cost := l.cost[:len(l.to)]
	for k, j := range l.to {
		key := ordered(cost[k] - g[j])
		if key < first {
			at = k
		}
		next = min(next, max(first, key))
		first = min(first, key)
	}
	return at, unordered(first), unordered(next)
}

// ordered returns an integer in the order of float64, and unordered its float64.
func ordered(x float64) int64 {
	b := int64(math.Float64bits(x))
	return b ^ int64(uint64(b>>63)>>1)
}

func unordered(b int64) float64 { return math.Float64frombits(uint64(b ^ int64(uint64(b>>63)>>1))) }

// Least returns the least of most and the C_ij − g_j of the pairs that c lists.
func Least(c geometry.Listed, i int, g []float64, most float64) float64 {
	to, cost := c.Arcs(i)
	return (&shortlist{to: to, cost: cost}).least(g, most)
}

// least returns min_j C_ij − g_j.
func (s *simplex) least(i int, g []float64) float64 {
	if s.listed != nil {
		return Least(s.listed, i, g, math.Inf(1))
	}
	return -kern.RowMax(g, s.row(i)[:s.m], 1)
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
