//go:build !linux

package analytic

import "time"

var started = time.Now()

// cpuSeconds is the time since the program started: only Linux counts the processor time of a thread.
func cpuSeconds() float64 { return time.Since(started).Seconds() }
