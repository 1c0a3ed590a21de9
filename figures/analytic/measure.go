package analytic

import (
	"runtime"
	"time"

	"coupling/figures/internal/kit"
)

// Measured is what one run of a function took: the least of some runs, since all that disturbs it adds.
type Measured struct {
	Seconds float64 `json:"seconds"` // processor time of its thread, where the system counts it (Linux)
	Bytes   float64 `json:"bytes"`   // allocated
}

// measure runs f, which starts no goroutine, a few times, as long as that takes less than the given seconds, and at least once.
func measure(seconds float64, f func() error) (Measured, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var best Measured
	begin := time.Now()
	for k := 0; k < 5 && (k == 0 || time.Since(begin).Seconds() < seconds); k++ {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := kit.CPUSeconds()
		if err := f(); err != nil {
			return Measured{}, err
		}
		s := kit.CPUSeconds() - start
		runtime.ReadMemStats(&after)
		b := float64(after.TotalAlloc - before.TotalAlloc)
		if k == 0 {
			best = Measured{s, b}
		}
		best.Seconds, best.Bytes = min(best.Seconds, s), min(best.Bytes, b)
	}
	return best, nil
}
