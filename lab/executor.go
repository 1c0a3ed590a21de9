package lab

import (
	"context"
	"iter"
)

// An Executor computes jobs somewhere; the results come back through the store.
type Executor interface {
	// Run yields each job when its cell is stored or fails. Like [Sweep] it returns only when
	// everything it started has ended.
	Run(ctx context.Context, s *Store, jobs []Job) iter.Seq2[Job, error]
}

// Local runs jobs on goroutines of this process.
type Local struct {
	// Workers is the number of cells that run at once; 0 means one for each core.
	Workers int
	// Drain, once closed, lets the running cells finish and starts no other.
	Drain <-chan struct{}
}

// Run implements [Executor].
func (l Local) Run(ctx context.Context, s *Store, jobs []Job) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		for l := range share(ctx, s, l.Drain, l.Workers, jobs) {
			if !yield(l.job, l.err) {
				return
			}
		}
	}
}
