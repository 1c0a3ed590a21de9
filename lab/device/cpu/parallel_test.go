package cpu

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
)

func TestChunks(t *testing.T) {
	for _, procs := range []int{1, 2, 5} {
		old := runtime.GOMAXPROCS(procs)
		for _, n := range []int{0, 1, 7, 8, 9, 100} {
			for _, size := range []int{1, 3, 8, 1000} {
				seen := make([]int32, n)
				chunks := make([]int32, (n+size-1)/size)
				err := Chunks(context.Background(), n, size, func(c, lo, hi int) {
					if lo != c*size || hi != min(lo+size, n) {
						t.Errorf("chunk %d of %d by %d is [%d, %d)", c, n, size, lo, hi)
					}
					chunks[c]++
					for i := lo; i < hi; i++ {
						seen[i]++
					}
				})
				if err != nil {
					t.Errorf("Chunks(%d, %d) = %v", n, size, err)
				}
				for i, times := range seen {
					if times != 1 {
						t.Fatalf("Chunks(%d, %d) on %d processors worked %d times on %d", n, size, procs, times, i)
					}
				}
			}
		}
		runtime.GOMAXPROCS(old)
	}
}

func TestChunksCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var done atomic.Int32
	err := Chunks(ctx, 1000, 1, func(c, _, _ int) {
		if done.Add(1) == 10 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || done.Load() >= 1000 {
		t.Errorf("cancelled Chunks = %v after %d chunks", err, done.Load())
	}
	if err := Chunks(ctx, 5, 1, func(int, int, int) { t.Error("work after the end") }); !errors.Is(err,
		context.Canceled) {
		t.Errorf("Chunks with a done context = %v", err)
	}
	// Done only after the last chunk was handed out: the work is complete.
	ctx, cancel = context.WithCancel(context.Background())
	if err := Chunks(ctx, 1, 1, func(int, int, int) { cancel() }); err != nil {
		t.Errorf("Chunks cancelled by its last chunk = %v, want nil", err)
	}
}
