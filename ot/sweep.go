package ot

import (
	"coupling/lab/device/cpu"
	"coupling/ot/cost"
	"coupling/ot/internal/rows"
)

type (
	span  = rows.Span
	sweep = rows.Sweep[*worker]
)

// worker is the scratch of one goroutine: a row of costs and a row of the plan.
type worker struct {
	cost, exp []float64
	exp32     []float32 // made when first wanted
	block     []float64 // room for more rows
	gemm      cpu.Gemm[float64]
	near      nearTargets
}

// newSweep prepares a sweep over the rows of a geometry, or returns that of mem.
func newSweep(g cost.Geometry, workers int, mem *memory) *sweep {
	n, m := g.Dims()
	if mem != nil {
		for _, s := range mem.sweeps {
			if len(s.Scratch) == min(rows.Workers(workers), len(s.Spans)) {
				return s
			}
		}
	}
	s := rows.NewSweep(n, m, workers, func() *worker {
		return &worker{cost: make([]float64, m), exp: make([]float64, m)}
	})
	if mem != nil {
		mem.sweeps = append(mem.sweeps, s)
	}
	return s
}

// room returns n float64, not cleared, which the next call returns too.
func (w *worker) room(n int) []float64 {
	if len(w.block) < n {
		w.block = make([]float64, n)
	}
	return w.block[:n]
}
