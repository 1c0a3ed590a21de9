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
	block     []float64 // rows of a matrix product, made when first wanted
	gemm      cpu.Gemm[float64]
	near      nearTargets
}

// newSweep prepares a sweep over the rows of a geometry.
func newSweep(g Geometry, workers int) *sweep {
	n, m := g.Dims()
	return rows.NewSweep(n, m, workers, func() *worker { return &worker{cost: make([]float64, m), exp: make([]float64, m)} })
}
