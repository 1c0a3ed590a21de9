package contour

// A row describes a pair of mixtures at one x: the logarithms of both densities over the standard
// normal's, bounds of their errors, and the posterior means of the components' means.
type row struct {
	p, q, pErr, qErr, pMean, qMean float64
}

// rows are the rows at x = j·h, from j = first on.
type rows struct {
	first int
	list  []row
}

// at returns n rows from j = first on. Lines at different abscissae share them.
func (s *scaled) at(h float64, first, n int) []row {
	if s.memo == nil {
		s.memo = map[float64]rows{}
	}
	m, ok := s.memo[h]
	if !ok {
		m.first = first
	}
	lo, hi := min(first, m.first), max(first+n, m.first+len(m.list))
	if lo < m.first || hi > m.first+len(m.list) {
		list := make([]row, hi-lo)
		for j := range list {
			if k := j + lo - m.first; k >= 0 && k < len(m.list) {
				list[j] = m.list[k]
				continue
			}
			x := float64(j+lo) * h
			r := &list[j]
			r.p, r.pErr, r.pMean = s.p.ratio(x)
			r.q, r.qErr, r.qMean = s.q.ratio(x)
		}
		m = rows{lo, list}
		s.memo[h] = m
	}
	return m.list[first-m.first:][:n]
}
