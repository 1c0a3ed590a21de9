package freg

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// span is a range of rows [lo, hi).
type span struct{ lo, hi int }

// spans cuts n rows of m entries, by n and m alone: at least 16k entries a span, so that starting a goroutine is lost in
// the work, and at most 64 spans, so that adding up what they found is.
func spans(n, m int) []span {
	const minEntries, maxSpans = 1 << 14, 64
	k := max(1, min(maxSpans, n, n*m/minEntries))
	out := make([]span, k)
	for i := range out {
		out[i] = span{i * n / k, (i + 1) * n / k}
	}
	return out
}

// sweep runs over spans of rows on several goroutines. What a span finds is kept apart and added up in the order of the
// spans, so that results do not depend on the number of goroutines.
type sweep struct {
	spans []span
	rows  []*row // the scratch of each goroutine
}

func newSweep(in *instance, workers int) *sweep {
	s := &sweep{spans: spans(len(in.a), len(in.b))}
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	s.rows = make([]*row, min(workers, len(s.spans)))
	for i := range s.rows {
		s.rows[i] = newRow(len(in.b), len(in.full.b))
	}
	return s
}

// each calls f once for every span k, with the scratch of the goroutine that runs it.
func (s *sweep) each(f func(r *row, k int, sp span)) {
	var next atomic.Int64
	run := func(r *row) {
		for {
			k := int(next.Add(1)) - 1
			if k >= len(s.spans) {
				return
			}
			f(r, k, s.spans[k])
		}
	}
	var wg sync.WaitGroup
	for _, r := range s.rows[1:] {
		wg.Go(func() { run(r) })
	}
	run(s.rows[0])
	wg.Wait()
}
