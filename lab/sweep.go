package lab

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"sync"
	"time"
)

// Sweep recalls the cells at ps, computes the missing ones on workers goroutines (0: one for each
// core), and yields all in the order of ps, so that a loop over it may draw: each as soon as it and
// those before it are finished. A cell that fails is yielded with its parameters and a
// [*CellError], and the others go on. Breaking out of the loop stops the sweep: running cells are
// cancelled, and Sweep returns when they have ended. What was stored stays, so the next Sweep goes
// on from there. A cell that occurs twice in ps is yielded once. When ctx ends, the unfinished
// cells are yielded with its error. With more seeds, the cells of each follow those of the one before.
//
// While other cells are missing, Sweep leaves a cell to the process that computes it, so processes
// that sweep the same cells share the work.
func Sweep[P, R any](
	ctx context.Context, s *Store, e Experiment[P, R], workers int, seed uint64, ps []P, more ...uint64,
) iter.Seq2[Result[P, R], error] {
	return func(yield func(Result[P, R], error) bool) {
		early, next := map[int]func() (Result[P, R], error){}, 0
		for i, land := range sweep(ctx, s, e, workers, append([]uint64{seed}, more...), ps) {
			early[i] = land
			for land, ok := early[next]; ok; land, ok = early[next] {
				if !yield(land()) {
					return
				}
				delete(early, next)
				next++
			}
		}
	}
}

// SweepAsLanded is [Sweep] in the order in which cells finish, which differs from run to run, for
// live displays. Cells that the store holds come first, in the order of ps.
func SweepAsLanded[P, R any](
	ctx context.Context, s *Store, e Experiment[P, R], workers int, seed uint64, ps []P, more ...uint64,
) iter.Seq2[Result[P, R], error] {
	return func(yield func(Result[P, R], error) bool) {
		for _, land := range sweep(ctx, s, e, workers, append([]uint64{seed}, more...), ps) {
			if !yield(land()) {
				return
			}
		}
	}
}

// sweep yields cells as they finish, with their places among the distinct cells of ps.
func sweep[P, R any](
	ctx context.Context, s *Store, e Experiment[P, R], workers int, seeds []uint64, ps []P,
) iter.Seq2[int, func() (Result[P, R], error)] {
	return func(yield func(int, func() (Result[P, R], error)) bool) {
		var jobs []Job
		var params []P
		seen := map[Key]bool{}
		for i := range len(seeds) * len(ps) {
			seed, p := seeds[i/len(ps)], ps[i%len(ps)]
			j, err := e.job(seed, p) // an error comes with the outcome
			if err != nil && j.id.Key == "" {
				j.id = Record{Experiment: e.Name, Seed: seed}
			} else if seen[j.id.Key] {
				continue
			}
			seen[j.id.Key] = true
			jobs, params = append(jobs, j), append(params, p)
		}
		for l := range share(ctx, s, nil, workers, jobs) {
			if !yield(l.place, func() (Result[P, R], error) {
				return typed[P, R](s, l.job, params[l.place], l.record, l.recalled, l.err)
			}) {
				return
			}
		}
	}
}

// A turn is a job in a [queue].
type turn struct {
	job   Job
	place int           // in the list of jobs
	pause time.Duration // to wait after a try
	after time.Time     // of the next try
	told  bool          // the sink knows who computes it
}

// A queue hands out jobs. A job whose cell another process computes goes to the end; a worker waits
// for it only when no other job is left.
type queue struct {
	mu    sync.Mutex
	turns []*turn
}

// next returns the first turn, waiting until its time; nil if there is none, or when drain is closed.
func (q *queue) next(ctx context.Context, s *Store, drain <-chan struct{}) *turn {
	q.mu.Lock()
	var t *turn
	if len(q.turns) > 0 {
		t, q.turns = q.turns[0], q.turns[1:]
	}
	q.mu.Unlock()
	select { // a closed drain wins over a job
	case <-drain:
		return nil
	default:
	}
	if t == nil || time.Until(t.after) <= 0 {
		return t
	}
	if !t.told {
		t.told = true
		watcher(ctx, t.job.id)(Event{Kind: Waiting, Note: s.paths(t.job.id).holder()})
	}
	select {
	case <-time.After(time.Until(t.after)):
	case <-ctx.Done(): // it is yielded with ctx's error
	case <-drain:
		return nil
	}
	return t
}

// putBack puts a turn at the end.
func (q *queue) putBack(t *turn) {
	t.pause = min(max(2*t.pause, 50*time.Millisecond), 2*time.Second)
	t.after = time.Now().Add(t.pause)
	q.mu.Lock()
	q.turns = append(q.turns, t)
	q.mu.Unlock()
}

// landed is the outcome of a job.
type landed struct {
	job      Job
	place    int
	record   Record
	recalled bool // another process computed it
	err      error
}

// share yields the jobs whose cells are stored, in order, runs the others on workers goroutines, and yields each
// when it has finished or failed. Once drain
// is closed no further job starts. All goroutines end with the loop.
func share(ctx context.Context, s *Store, drain <-chan struct{}, workers int, jobs []Job) iter.Seq[landed] {
	return func(yield func(landed) bool) {
		if workers <= 0 {
			workers = runtime.GOMAXPROCS(0)
		}
		q, out := &queue{}, make(chan landed)
		for i, j := range jobs {
			r, err := j.recall(s)
			if canCompute(err) {
				q.turns = append(q.turns, &turn{job: j, place: i})
				continue
			}
			if err == nil {
				watcher(ctx, j.id)(Event{Kind: Recalled, OtherCode: j.otherCode(r)})
			}
			if !yield(landed{j, i, r, true, j.id.CellError(err)}) {
				return
			}
		}
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		for range min(workers, len(q.turns)) {
			wg.Go(func() {
				for t := q.next(ctx, s, drain); t != nil; t = q.next(ctx, s, drain) {
					r, recalled, err := t.job.try(ctx, s)
					if errors.Is(err, ErrBusy) {
						q.putBack(t)
						continue
					}
					out <- landed{t.job, t.place, r, recalled, t.job.id.CellError(err)}
				}
			})
		}
		go func() {
			wg.Wait()
			close(out)
		}()
		defer func() { // the loop ended, or was broken out of
			cancel()
			for range out { // let every worker end: what is left ends with ctx's error
			}
		}()
		for l := range out {
			if !yield(l) {
				return
			}
		}
	}
}
