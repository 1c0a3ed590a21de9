package ot

import (
	"coupling/lab/device/cpu"
	"coupling/ot/internal/rows"
)

type span = rows.Span

// worker is the scratch of one goroutine: a row of costs and a row of the plan.
type worker struct {
	cost, exp []float64
	exp32     []float32 // made when first wanted
	block     []float64 // rows of a matrix product, made when first wanted
	gemm      cpu.Gemm[float64]
}

// sweep runs over the rows of a geometry in parallel.
type sweep struct {
	spans []span
	bufs  []*worker
}

// newSweep prepares a sweep with the given number of goroutines, 0 for GOMAXPROCS.
func newSweep(g Geometry, workers int) *sweep {
	n, m := g.Dims()
	s := &sweep{spans: rows.Spans(n, m)}
	s.bufs = make([]*worker, min(rows.Workers(workers), len(s.spans)))
	for i := range s.bufs {
		s.bufs[i] = &worker{cost: make([]float64, m), exp: make([]float64, m)}
	}
	return s
}

// each calls f once for every span, with the scratch of the goroutine that runs it.
func (s *sweep) each(f func(w *worker, k int, r span)) { rows.Each(s.spans, s.bufs, f) }
