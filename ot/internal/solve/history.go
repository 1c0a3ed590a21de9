package solve

import (
	"math"

	"coupling/ot/internal/semidual"
)

// history holds the last steps and the changes of the gradient over each.
type history struct {
	s, y       [][]float64
	rho, alpha []float64
	metric     []float64 // ε/max(b, Tᵀ1), 0 where b is 0
	scratch    []float64
	n, head    int // n pairs held; the next goes to slot head
}

func newHistory(steps, m int, mem *semidual.Memory) history {
	h := history{
		s:       make([][]float64, steps),
		y:       make([][]float64, steps),
		rho:     make([]float64, steps),
		alpha:   make([]float64, steps),
		metric:  mem.Zeros(m),
		scratch: mem.Floats(m),
	}
	for k := range h.s {
		h.s[k], h.y[k] = mem.Floats(m), mem.Floats(m)
	}
	return h
}

func (h *history) clear()                 { h.n, h.head = 0, 0 }
func (h *history) empty() bool            { return h.n == 0 }
func (h *history) slot() (s, y []float64) { return h.s[h.head], h.y[h.head] }

// keep takes the pair that was written to slot, if its curvature is positive beyond rounding.
func (h *history) keep() {
	s, y := h.slot()
	sy := kern.Dot(s, y)
	if !(sy > 1e-14*math.Sqrt(kern.Dot(s, s)*kern.Dot(y, y))) {
		return
	}
	h.rho[h.head] = 1 / sy
	h.head = (h.head + 1) % len(h.s)
	h.n = min(h.n+1, len(h.s))
}

// maxScale is the largest γ until the history is full. In the metric ε/b no eigenvalue of the Hessian
// is above 1 near the solution, and at large ε most are near 1: a larger γ, which suits the newest
// pair, overshoots in the directions that no pair knows.
const maxScale = 1.5

// direction writes −H g at β, the two-loop recursion (Nocedal 1980) with H₀ = γ·diag(ε/max(b, Tᵀ1)), preconditioned:
// at the solution ε/b, and elsewhere no entry moves by more than γ ε for its own column.
func (h *history) direction(dst, g, beta []float64, s *semidual.Function) {
	for j, b := range s.Wanted() {
		if s.B[j] > 0 {
			h.metric[j] = s.Eps / max(b, s.Col[j], semidual.ColumnUnderflow)
		}
	}
	kern.Scale(dst, -1, g)
	k := h.head
	for range h.n {
		k = (k - 1 + len(h.s)) % len(h.s)
		h.alpha[k] = h.rho[k] * kern.Dot(h.s[k], dst)
		kern.Axpy(dst, -h.alpha[k], h.y[k])
	}
	newest := (h.head - 1 + len(h.s)) % len(h.s)
	s.Precondition(h.scratch, h.y[newest], h.metric, beta)
	gamma := 1 / (h.rho[newest] * kern.Dot(h.scratch, h.y[newest]))
	if h.n < len(h.s) {
		gamma = min(gamma, maxScale)
	}
	s.Precondition(dst, dst, h.metric, beta)
	kern.Scale(dst, gamma, dst)
	for range h.n {
		kern.Axpy(dst, h.alpha[k]-h.rho[k]*kern.Dot(h.y[k], dst), h.s[k])
		k = (k + 1) % len(h.s)
	}
}
