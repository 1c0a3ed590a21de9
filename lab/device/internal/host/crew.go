package host

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// crew is the goroutines that share an operation's work.
type crew struct {
	size int // 0: GOMAXPROCS
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
	share(c.workers(), n, size, func(_, lo, hi int) { work(lo, hi) })
}

// share is each on up to team goroutines, the caller's among them, which work is told the number of.
func share(team, n, size int, work func(worker, lo, hi int)) {
	size = max(size, 1)
	team = min(team, (n+size-1)/size)
	if team <= 1 {
		for lo := 0; lo < n; lo += size {
			work(0, lo, min(lo+size, n))
		}
		return
	}
	var next atomic.Int64
	run := func(worker int) {
		for {
			lo := (int(next.Add(1)) - 1) * size
			if lo >= n {
				return
			}
			work(worker, lo, min(lo+size, n))
		}
	}
	var others sync.WaitGroup
	for w := 1; w < team; w++ {
		others.Go(func() { run(w) })
	}
	run(0)
	others.Wait()
}

// per is how many items of a size make a chunk.
func per(size int) int { return max(1, grain/max(size, 1)) }
