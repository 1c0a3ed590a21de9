package ot

// memory is scratch that successive solves reuse, so that vectors as large as the costs are
// allocated once. A nil memory allocates each time. It belongs to one goroutine at a time.
type memory struct {
	wide   pool[float64]
	narrow pool[float32]
	sweep  []*worker // of the last sweep
}

// worker returns the scratch of the k-th goroutine of a sweep over rows of a length.
func (m *memory) worker(k, length int) *worker {
	if m != nil && k < len(m.sweep) && len(m.sweep[k].cost) == length {
		return m.sweep[k]
	}
	w := &worker{cost: make([]float64, length), exp: make([]float64, length)}
	if m != nil {
		m.sweep = append(m.sweep[:k], w)
	}
	return w
}

// reset makes all vectors in use free again.
func (m *memory) reset() {
	clear(m.wide.used)
	clear(m.narrow.used)
}

// floats returns n float64, not cleared.
func (m *memory) floats(n int) []float64 {
	if m == nil {
		return make([]float64, n)
	}
	return m.wide.get(n)
}

// floats32 returns n float32, not cleared.
func (m *memory) floats32(n int) []float32 {
	if m == nil {
		return make([]float32, n)
	}
	return m.narrow.get(n)
}

// pool holds vectors and records which of them are in use.
type pool[T any] struct {
	bufs [][]T
	used []bool
}

// get returns the shortest free vector that is long enough, cut to n, or a new one.
func (p *pool[T]) get(n int) []T {
	best := -1
	for k, b := range p.bufs {
		if !p.used[k] && len(b) >= n && (best < 0 || len(b) < len(p.bufs[best])) {
			best = k
		}
	}
	if best < 0 {
		best = len(p.bufs)
		p.bufs, p.used = append(p.bufs, make([]T, n)), append(p.used, false)
	}
	p.used[best] = true
	return p.bufs[best][:n:n]
}
