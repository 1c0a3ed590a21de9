package kit

import (
	"sync/atomic"
	"time"
)

var (
	started = time.Now()
	// slow is what the clocks go slower by; 0: they go right.
	slow atomic.Int64
)

// CPUSeconds returns the processor time that the calling thread has used, which other processes do
// not lengthen, where the system counts it (Linux), else [WallSeconds].
func CPUSeconds() float64 { return slowed(threadSeconds()) }

// ProcessSeconds is CPUSeconds of all threads of the process.
func ProcessSeconds() float64 { return slowed(processSeconds()) }

// WallSeconds returns the time since the program started.
func WallSeconds() float64 { return slowed(time.Since(started).Seconds()) }

// SlowClocks makes work seem to take by times as long, for tests, until restore is called.
func SlowClocks(by int) (restore func()) {
	slow.Store(int64(by))
	return func() { slow.Store(0) }
}

func slowed(seconds float64) float64 { return seconds * float64(max(slow.Load(), 1)) }
