package freg

import "coupling/ot/internal/rows"

// sweep runs over spans of rows on several goroutines.
type sweep struct {
	spans []rows.Span
	rows  []*row // the scratch of each goroutine
}

func newSweep(in *instance, workers int) *sweep {
	s := &sweep{spans: rows.Spans(len(in.a), len(in.b))}
	s.rows = make([]*row, min(rows.Workers(workers), len(s.spans)))
	for i := range s.rows {
		s.rows[i] = newRow(len(in.b), len(in.full.b))
	}
	return s
}

// each calls f once for every span k, with the scratch of the goroutine that runs it.
func (s *sweep) each(f func(r *row, k int, sp rows.Span)) { rows.Each(s.spans, s.rows, f) }
