package lab

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"sync"
)

// Sweep asks for the cells at ps and yields each as it lands: first those that
// the store holds, in order, then the others as workers goroutines (0: one a
// core) finish them. A cell that fails is yielded with its parameters and a
// [*CellError], and the others go on. Breaking out of the loop stops the sweep:
// running cells are cancelled, and Sweep returns when they have ended. What was
// stored stays, so the next Sweep goes on from there. A cell that ps asks for twice
// is yielded once. When ctx ends, the cells
// that did not land are yielded with its error.
func Sweep[P, R any](ctx context.Context, s *Store, e Experiment[P, R], workers int, seed uint64, ps []P) iter.Seq2[Result[P, R], error] {
	return func(yield func(Result[P, R], error) bool) {
		var todo []P
		seen := map[Key]bool{}
		for _, p := range ps {
			r, err := Recall(s, e, seed, p)
			if r.Key != "" && seen[r.Key] {
				continue
			}
			seen[r.Key] = true
			if errors.Is(err, ErrMissing) || errors.Is(err, ErrCorrupt) {
				todo = append(todo, p)
				continue
			}
			if err != nil {
				err = cellError(e.Name, r.Key, seed, p, err)
			} else {
				watcher(ctx, Record{Experiment: e.Name, Key: r.Key})(Event{Kind: Recalled})
			}
			if !yield(r, err) {
				return
			}
		}
		do := func(ctx context.Context, p P) (Result[P, R], error) { return Do(ctx, s, e, seed, p) }
		for r, err := range pool(ctx, nil, workers, todo, do) {
			if !yield(r, err) {
				return
			}
		}
	}
}

// pool applies do to every item on workers goroutines and yields what it
// returns, in order of completion. Once drain is closed no further item begins.
// No goroutine outlives the loop.
func pool[T, U any](ctx context.Context, drain <-chan struct{}, workers int, items []T, do func(context.Context, T) (U, error)) iter.Seq2[U, error] {
	type outcome struct {
		u   U
		err error
	}
	return func(yield func(U, error) bool) {
		if workers <= 0 {
			workers = runtime.GOMAXPROCS(0)
		}
		ctx, cancel := context.WithCancel(ctx)
		in, out := make(chan T), make(chan outcome)
		var wg sync.WaitGroup
		for range min(workers, len(items)) {
			wg.Go(func() {
				for item := range in {
					u, err := do(ctx, item)
					out <- outcome{u, err}
				}
			})
		}
		stop := make(chan struct{}) // the loop was broken out of
		go func() {
			defer close(out)
			feed(items, in, stop, drain)
			wg.Wait()
		}()
		defer func() {
			cancel()
			close(stop)
			for range out { // let every worker end
			}
		}()
		for o := range out {
			if !yield(o.u, o.err) {
				return
			}
		}
	}
}

// feed sends items until they or the patience of whoever listens are at an end.
func feed[T any](items []T, in chan<- T, stop, drain <-chan struct{}) {
	defer close(in)
	for _, item := range items {
		select { // a closed drain wins over a waiting worker
		case <-drain:
			return
		default:
		}
		select {
		case in <- item:
		case <-stop:
			return
		case <-drain:
			return
		}
	}
}
