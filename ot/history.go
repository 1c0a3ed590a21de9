package ot

import "math"

// history holds the last steps and the changes of gradient that came with them.
type history struct {
	s, y       [][]float64
	rho, alpha []float64
	n, head    int // n pairs held; the next goes to slot head
}

func newHistory(memory, m int) history {
	h := history{s: make([][]float64, memory), y: make([][]float64, memory), rho: make([]float64, memory), alpha: make([]float64, memory)}
	flat := make([]float64, 2*memory*m)
	for k := range h.s {
		h.s[k], flat = flat[:m:m], flat[m:]
		h.y[k], flat = flat[:m:m], flat[m:]
	}
	return h
}

func (h *history) clear()                 { h.n, h.head = 0, 0 }
func (h *history) empty() bool            { return h.n == 0 }
func (h *history) slot() (s, y []float64) { return h.s[h.head], h.y[h.head] }

// keep takes the pair that was written to slot, if its curvature is positive beyond rounding.
func (h *history) keep() {
	s, y := h.slot()
	sy := dot(s, y)
	if !(sy > 1e-14*math.Sqrt(dot(s, s)*dot(y, y))) {
		return
	}
	h.rho[h.head] = 1 / sy
	h.head = (h.head + 1) % len(h.s)
	h.n = min(h.n+1, len(h.s))
}

// direction writes −H g, the two-loop recursion (Nocedal 1980) with H₀ = γ·diag(ε/b).
func (h *history) direction(dst, g, b []float64, eps float64) {
	copy(dst, g)
	k := h.head
	for range h.n {
		k = (k - 1 + len(h.s)) % len(h.s)
		h.alpha[k] = h.rho[k] * dot(h.s[k], dst)
		axpy(dst, h.y[k], -h.alpha[k])
	}
	newest := (h.head - 1 + len(h.s)) % len(h.s)
	var yhy float64
	for j, y := range h.y[newest] {
		if b[j] > 0 {
			yhy += y * y * (eps / b[j])
		}
	}
	gamma := 1 / (h.rho[newest] * yhy)
	for j := range dst {
		if b[j] > 0 {
			dst[j] *= gamma * eps / b[j]
		} else {
			dst[j] = 0
		}
	}
	for range h.n {
		beta := h.rho[k] * dot(h.y[k], dst)
		axpy(dst, h.s[k], h.alpha[k]-beta)
		k = (k + 1) % len(h.s)
	}
	for j := range dst {
		dst[j] = -dst[j]
	}
}
