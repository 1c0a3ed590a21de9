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
// none. It scans blocks of √(nm) arcs in turn and takes the best arc (block search), but first the
// remaining good candidates of the last block.
func (s *simplex) entering() (o candidate, ok bool) {
	if o, ok = s.queued(); ok {
		return o, true
	}
	block := max(int(math.Sqrt(float64(s.n)*float64(s.m))), 10)
	s.queue = s.queue[:0]
	left := block
	for seen := 0; seen < s.n*s.m && s.err == nil; {
		end := min(s.m, s.atCol+left)
		s.scan(s.row(s.atRow), s.atRow, s.atCol, end)
		left -= end - s.atCol
		seen += end - s.atCol
		if s.atCol = end; end == s.m {
			s.atCol = 0
			s.atRow = (s.atRow + 1) % s.n
		}
		if left == 0 {
			if len(s.queue) > 0 {
				break
			}
			left = block
		}
	}
	if len(s.queue) == 0 {
		return o, false
	}
	o = s.queue[0]
	s.bar = queueCut * o.key
	s.queue = s.queue[:copy(s.queue, s.queue[1:])]
	return o, true
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

// scan inserts the arcs from source i to targets from … end−1 into the queue.
func (s *simplex) scan(row []float64, i, from, end int) {
	p := s.tree.pot[i]
	limit := p
	if len(s.queue) == queueLen {
		limit += s.queue[queueLen-1].key
	}
	pot := s.tree.pot[s.n+from : s.n+end]
	row = row[from:end]
	row = row[:len(pot)]
	for j, q := range pot {
		if d := row[j] + q; d < limit {
			o := candidate{int32(i), int32(from + j), row[j], d - p}
			if !s.negative(o) {
				continue
			}
			if s.queue = insert(s.queue, o, queueLen); len(s.queue) == queueLen {
				limit = s.queue[queueLen-1].key + p
			}
		}
	}
}
