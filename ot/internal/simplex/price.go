package simplex

import "math"

// queueLen is the number of candidates kept from one scan of a block. A queued candidate is taken
// before the next block is scanned if its reduced cost is still at least queueCut times the best of
// its block at the scan. Both were chosen on the timing problems.
const (
	queueLen = 8
	queueCut = 0.5
)

// roundoff bounds the rounding error of the reduced cost of an arc with cost c and potentials p, q:
// four roundings of at most 2^−53 of the sum of their sizes, doubled.
func roundoff(c, p, q float64) float64 {
	const unit = 0x1p-50
	return unit * (math.Abs(c) + math.Abs(p) + math.Abs(q))
}

// entering returns an arc whose reduced cost is negative beyond rounding, or ok = false if there is
// none. It scans the lists of some sources in turn and takes the best arc (block search), but first the
// remaining good candidates of the last block. Where no list has such an arc it looks at all.
func (s *simplex) entering() (o candidate, ok bool) {
	if o, ok = s.queued(); ok {
		return o, true
	}
	s.queue = s.queue[:0]
	for seen, left := 0, s.block; seen < s.n && (left > 0 || len(s.queue) == 0); seen++ {
		l := &s.list[s.atRow]
		s.scan(l, s.atRow)
		if left -= len(l.to); left <= 0 && len(s.queue) == 0 {
			left = s.block
		}
		s.atRow = (s.atRow + 1) % s.n
	}
	if len(s.queue) == 0 && s.listed == nil {
		s.lengthen()
	}
	if len(s.queue) == 0 {
		return o, false
	}
	o = s.queue[0]
	s.bar = queueCut * o.key
	s.queue = s.queue[:copy(s.queue, s.queue[1:])]
	return o, true
}

// lengthen adds the arcs of negative reduced cost that lists lack, the best few of each source, and inserts
// them into the queue.
func (s *simplex) lengthen() {
	g := make([]float64, s.m)
	kern.Scale(g, -1, s.tree.pot[s.n:])
	for i := range s.n {
		p := s.tree.pot[i]
		if row := s.row(i); -kern.RowMax(g, row, 1) < p && s.err == nil {
			s.found = s.found[:0]
			for j, c := range row {
				if o := (candidate{int32(i), int32(j), c, c - g[j] - p}); o.key < 0 && s.negative(o) {
					s.found = insert(s.found, o, shortlistSize)
				}
			}
			l := &s.list[i]
			for _, o := range s.found {
				l.to, l.cost = append(l.to, o.j), append(l.cost, o.cost)
				s.queue = insert(s.queue, o, queueLen)
			}
		}
	}
}

// queued takes the best of the queue at the present potentials, if it is good enough.
func (s *simplex) queued() (candidate, bool) {
	best, at := s.bar, -1
	for k := range s.queue {
		o := &s.queue[k]
		if o.key = s.tree.reduced(o.i, o.j, o.cost); o.key < best && s.negative(*o) {
			best, at = o.key, k
		}
	}
	if at < 0 {
		return candidate{}, false
	}
	o := s.queue[at]
	s.queue[at] = s.queue[len(s.queue)-1]
	s.queue = s.queue[:len(s.queue)-1]
	return o, true
}

// negative reports whether the reduced cost of o is negative beyond rounding.
func (s *simplex) negative(o candidate) bool {
	i, j := int(o.i), s.n+int(o.j)
	return o.key < -roundoff(o.cost, s.tree.pot[i], s.tree.pot[j])-s.tree.noise[i]-s.tree.noise[j]
}

// scan inserts the arcs of source i's list into the queue.
func (s *simplex) scan(l *shortlist, i int) {
	p := s.tree.pot[i]
	limit := p
	if len(s.queue) == queueLen {
		limit += s.queue[queueLen-1].key
	}
	pot := s.tree.pot[s.n:]
	cost := l.cost[:len(l.to)]
	for k, j := range l.to {
		if d := cost[k] + pot[j]; d < limit {
			o := candidate{int32(i), j, cost[k], d - p}
			if !s.negative(o) {
				continue
			}
			if s.queue = insert(s.queue, o, queueLen); len(s.queue) == queueLen {
				limit = s.queue[queueLen-1].key + p
			}
		}
	}
}
