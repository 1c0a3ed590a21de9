package semidual

import "gonum.org/v1/gonum/mat"

// Memory is what successive solves reuse, so that a step of a training loop allocates no vector
// after the first steps. A nil memory allocates each time. It belongs to one goroutine at a time.
type Memory struct {
	wide   pool[float64]
	narrow pool[float32]

	// Of one size of problem:
	n, m   int
	sweeps []*Sweep
	kept   []any
}

// Keep returns the T that m keeps for problems of its present size, made by the first call. A nil memory keeps none.
func Keep[T any](m *Memory, make func() *T) *T {
	if m == nil {
		return make()
	}
	for _, k := range m.kept {
		if t, ok := k.(*T); ok {
			return t
		}
	}
	t := make()
	m.kept = append(m.kept, t)
	return t
}

// Reset makes all that was in use free again, for a problem of n sources and m targets.
func (m *Memory) Reset(sources, targets int) {
	clear(m.wide.used)
	clear(m.narrow.used)
	if m.n != sources || m.m != targets {
		*m = Memory{wide: m.wide, narrow: m.narrow, n: sources, m: targets}
	}
}

// Zeros returns n zeros.
func (m *Memory) Zeros(n int) []float64 {
	v := m.Floats(n)
	clear(v)
	return v
}

// Clone returns a copy of v.
func (m *Memory) Clone(v []float64) []float64 {
	out := m.Floats(len(v))
	copy(out, v)
	return out
}

// Dense returns a matrix of zeros.
func (m *Memory) Dense(rows, cols int) *mat.Dense {
	return mat.NewDense(rows, cols, m.Zeros(rows*cols))
}

// Floats returns n float64, not cleared.
func (m *Memory) Floats(n int) []float64 {
	if m == nil {
		return make([]float64, n)
	}
	return m.wide.get(n)
}

// floats32 returns n float32, not cleared.
func (m *Memory) floats32(n int) []float32 {
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
