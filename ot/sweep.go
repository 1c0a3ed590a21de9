package ot

import (
	"coupling/lab/device/cpu"
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

// newSweep prepares a sweep over the rows of a geometry, with the workers of mem.
func newSweep(g Geometry, workers int, mem *memory) *sweep {
	n, m := g.Dims()
	made := 0
	return rows.NewSweep(n, m, workers, func() *worker {
		made++
		return mem.worker(made-1, m)
	})
}

// sweep prepares a sweep over the rows of the plan.
func (p *Plan) sweep() *sweep { return newSweep(p.g, 0, p.memory) }

// room returns n float64, not cleared, which the next call returns too.
func (w *worker) room(n int) []float64 {
	if len(w.block) < n {
		w.block = make([]float64, n)
	}
	return w.block[:n]
}
