package cpu

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Chunks cuts 0…n−1 into chunks of the given size, the last one shorter, and
// calls work(chunk, lo, hi) once for each, on at most GOMAXPROCS goroutines,
// the caller's among them. Chunks depend on n and size alone, so that results
// kept by chunk and folded in the order of chunks do not depend on the number
// of processors; which goroutine gets which chunk does.
//
// It stops handing out chunks when ctx is done and then returns ctx.Err(), with
// some of the work not done. It panics where size < 1.
func Chunks(ctx context.Context, n, size int, work func(chunk, lo, hi int)) error {
	if size < 1 {
		panic("cpu: Chunks: size must be at least 1")
	}
	count := (n + size - 1) / size
	var next atomic.Int64
	run := func() {
		for ctx.Err() == nil {
			c := int(next.Add(1)) - 1
			if c >= count {
				return
			}
			work(c, c*size, min((c+1)*size, n))
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), count) - 1 {
		others.Go(run)
	}
	run()
	others.Wait()
	if int(next.Load()) < count {
		return ctx.Err()
	}
	return nil
}
