package ot

import (
	"runtime"
	"sync"
	"sync/atomic"

	"coupling/lab/device/cpu"
)

// span is a range of rows [lo, hi).
type span struct{ lo, hi int }

// worker is the scratch of one goroutine: a row of costs and a row of the plan.
type worker struct {
	cost, exp []float64
	exp32     []float32 // made when first wanted
	block     []float64 // rows of a matrix product, made when first wanted
	gemm      cpu.Gemm[float64]
}

// sweep runs over the rows of a geometry in parallel. The rows are cut into spans that depend on n and m only; what a
// span computes is kept apart and added up in the order of the spans, so results do not depend on the number of
// goroutines.
type sweep struct {
	workers int
	spans   []span
	bufs    []*worker
}

// newSweep prepares a sweep with the given number of goroutines, 0 for GOMAXPROCS.
func newSweep(g Geometry, workers int) *sweep {
	n, m := g.Dims()
	s := &sweep{spans: spans(n, m)}
	s.workers = min(defaultWorkers(workers), len(s.spans))
	s.bufs = make([]*worker, s.workers)
	for i := range s.bufs {
		s.bufs[i] = &worker{cost: make([]float64, m), exp: make([]float64, m)}
	}
	return s
}

func defaultWorkers(w int) int {
	if w <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return w
}

// spans cuts n rows of m costs: at least 32k costs a span, so that starting a goroutine is lost in the work, and at
// most 64 spans, so that adding up their column sums is. Where there are many, the last ones are a third as long as the
// first, so that goroutines end together.
func spans(n, m int) []span {
	const minCosts, maxSpans, manySpans = 1 << 15, 64, 32
	k := max(1, min(maxSpans, n, n*m/minCosts))
	small := 0
	if k >= manySpans && n >= 2*k { // a row for each, at least
		small = k / 2
	}
	units := 3*k - 2*small // a small span is one
	out := make([]span, k)
	at := func(i int) int { return (3*min(i, k-small) + max(0, i-(k-small))) * n / units }
	for i := range out {
		out[i] = span{at(i), at(i + 1)}
	}
	return out
}

// merge joins neighbours among spans until there are at most most.
func merge(spans []span, most int) []span {
	k := min(most, len(spans))
	out := make([]span, k)
	for i := range out {
		out[i] = span{spans[i*len(spans)/k].lo, spans[(i+1)*len(spans)/k-1].hi}
	}
	return out
}

// each calls f once for every span, with the scratch of the goroutine that runs it.
func (s *sweep) each(f func(w *worker, k int, r span)) {
	workers := min(s.workers, len(s.spans))
	if workers <= 1 {
		for k, r := range s.spans {
			f(s.bufs[0], k, r)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	run := func(w *worker) {
		for {
			k := int(next.Add(1)) - 1
			if k >= len(s.spans) {
				return
			}
			f(w, k, s.spans[k])
		}
	}
	for _, w := range s.bufs[1:workers] {
		wg.Go(func() { run(w) })
	}
	run(s.bufs[0])
	wg.Wait()
}
