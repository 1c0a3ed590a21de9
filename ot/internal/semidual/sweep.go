package semidual

import (
	"coupling/lab/device/cpu"
	"coupling/ot/cost"
	"coupling/ot/internal/rows"
)

// Sweep goes over rows with a Worker for each goroutine.
type Sweep = rows.Sweep[*Worker]

// Worker is the scratch of one goroutine: a row of costs and a row of the plan.
type Worker struct {
	Cost, Exp []float64
	Block     []float64 // room for more rows
	Gemm      cpu.Gemm[float64]
	near      nearTargets
}

// NewSweep prepares a sweep over the rows of a geometry, or returns that of mem.
func NewSweep(g cost.Geometry, workers int, mem *Memory) *Sweep {
	n, m := g.Dims()
	if mem != nil {
		for _, s := range mem.sweeps {
			if len(s.Scratch) == min(rows.Workers(workers), len(s.Spans)) {
				return s
			}
		}
	}
	width := m // of a row
	if l := Listing(g); l != nil {
		pairs := 0
		for i := range n {
			to, _ := l.Arcs(i)
			pairs += len(to)
		}
		width = pairs / n
	}
	s := rows.NewSweep(n, width, workers, func() *Worker {
		return &Worker{Cost: make([]float64, m), Exp: make([]float64, m)}
	})
	if mem != nil {
		mem.sweeps = append(mem.sweeps, s)
	}
	return s
}

// Room returns n float64, not cleared, which the next call returns too.
func (w *Worker) Room(n int) []float64 {
	if len(w.Block) < n {
		w.Block = make([]float64, n)
	}
	return w.Block[:n]
}
