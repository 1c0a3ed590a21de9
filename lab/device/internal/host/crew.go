package host

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// crew is the goroutines that share an operation's work. An operation prepares tables on the
// caller's goroutine and then launches work that reads and writes arrays; a recording is the
// launches, so that replaying prepares nothing again.
type crew struct {
	size   int // 0: GOMAXPROCS
	record *[]launch
	err    error // the first failure, after which launches do nothing

	job    launch // under way on several goroutines
	next   atomic.Int64
	others sync.WaitGroup
	runs   []func() // of the workers from the second on
}

// launch is work over 0…n−1 in chunks of a size, on up to team goroutines; only alone if that is set.
type launch struct {
	team, n, size int
	work          func(worker, lo, hi int)
	alone         func()
}

func (c *crew) workers() int {
	if c.size > 0 {
		return c.size
	}
	return runtime.GOMAXPROCS(0)
}

// grain is the elements of a chunk: enough to be worth a hand-over, few enough to stay in the second-level cache.
const grain = 1 << 14

// each cuts 0…n−1 into chunks of the given size, the last one shorter, and calls work(lo, hi) once for each. Chunks
// depend on n and size alone, so that what is kept by chunk and folded in their order does not depend on the number of
// workers.
func (c *crew) each(n, size int, work func(lo, hi int)) {
	c.share(c.workers(), n, size, func(_, lo, hi int) { work(lo, hi) })
}

// items is each for work on one item at a time.
func (c *crew) items(n, size int, work func(i int)) {
	c.each(n, size, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			work(i)
		}
	})
}

// share is each on up to team goroutines, the caller's among them; work gets the number of its goroutine.
func (c *crew) share(team, n, size int, work func(worker, lo, hi int)) {
	size = max(size, 1)
	c.do(launch{team: min(team, (n+size-1)/size), n: n, size: size, work: work})
}

// once is a launch of work that is not shared, and the only kind that may fail: it sets err.
func (c *crew) once(f func()) { c.do(launch{alone: f}) }

// do runs a launch and records it.
func (c *crew) do(l launch) {
	if c.record != nil {
		*c.record = append(*c.record, l)
	}
	c.run(l)
}

// Begin comes before operations.
func (c *crew) Begin() {}

// End returns the first failure.
func (c *crew) End() error {
	err := c.err
	c.err = nil
	return err
}

func (c *crew) run(l launch) {
	switch {
	case c.err != nil:
		return
	case l.alone != nil:
		l.alone()
		return
	case l.team <= 1:
		for lo := 0; lo < l.n; lo += l.size {
			l.work(0, lo, min(lo+l.size, l.n))
		}
		return
	}
	for w := len(c.runs) + 1; w < l.team; w++ {
		c.runs = append(c.runs, func() { defer c.others.Done(); c.part(w) })
	}
	c.job = l
	c.next.Store(0)
	c.others.Add(l.team - 1)
	for _, run := range c.runs[:l.team-1] {
		go run()
	}
	c.part(0)
	c.others.Wait()
}

// part does chunks of the job until all are taken.
func (c *crew) part(worker int) {
	for l := &c.job; ; {
		lo := (int(c.next.Add(1)) - 1) * l.size
		if lo >= l.n {
			return
		}
		l.work(worker, lo, min(lo+l.size, l.n))
	}
}

// per is the number of items of a size in a chunk.
func per(size int) int { return max(1, grain/max(size, 1)) }
