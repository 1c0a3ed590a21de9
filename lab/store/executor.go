package store

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"sync"
	"time"
)

// An Executor computes jobs somewhere; the results come back through the store.
type Executor interface {
	// Run yields each job when its cell is stored or fails. It returns only when
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
		for l := range l.Land(ctx, s, slices.Values(jobs)) {
			if !yield(l.Job, l.Err) {
				return
			}
		}
	}
}

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
		id := t.job.Record()
		watcher(ctx, id)(Event{Kind: Waiting, Note: s.paths(id).holder()})
	}
	select {
	case <-time.After(time.Until(t.after)):
	case <-ctx.Done(): // it is yielded with ctx's error
	case <-drain:
		return nil
	}
	return t
}

func (q *queue) putBack(t *turn) {
	t.pause = min(max(2*t.pause, 50*time.Millisecond), 2*time.Second)
	t.after = time.Now().Add(t.pause)
	q.mu.Lock()
	q.turns = append(q.turns, t)
	q.mu.Unlock()
}

// Landed is the outcome of a job.
type Landed struct {
	Job      Job
	Place    int // among the jobs
	Record   Record
	Recalled bool // it was in the store, or another process computed it
	Err      error
}

// Land yields the jobs whose cells are stored, in order, computes the others, and yields each when it has finished
// or failed; last the cells in which a process died before. All goroutines end with the loop. Of the jobs, it keeps
// those that are to be computed.
func (l Local) Land(ctx context.Context, s *Store, jobs iter.Seq[Job]) iter.Seq[Landed] {
	return func(yield func(Landed) bool) {
		workers := l.Workers
		if workers <= 0 {
			workers = runtime.GOMAXPROCS(0)
		}
		q, out := &queue{}, make(chan Landed)
		i, alive := -1, 0
		for j := range jobs {
			i++
			r, err := j.recall(s)
			if canCompute(err) {
				at := len(q.turns)
				if !s.isDead(s.paths(j.Record())) { // else each run would end there
					at, alive = alive, alive+1
				}
				q.turns = slices.Insert(q.turns, at, &turn{job: j, place: i})
				continue
			}
			if err == nil {
				watcher(ctx, j.Record())(Event{Kind: Recalled, OtherCode: j.OtherCode(r)})
			}
			if !yield(Landed{j, i, r, true, j.fail(err)}) {
				return
			}
		}
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		for range min(workers, len(q.turns)) {
			wg.Go(func() {
				for t := q.next(ctx, s, l.Drain); t != nil; t = q.next(ctx, s, l.Drain) {
					r, recalled, err := t.job.try(ctx, s)
					if errors.Is(err, ErrBusy) {
						q.putBack(t)
						continue
					}
					out <- Landed{t.job, t.place, r, recalled, t.job.fail(err)}
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
