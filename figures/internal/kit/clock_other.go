//go:build !linux

package kit

import "time"

var started = time.Now()

// CPUSeconds is the time since the program started: only Linux counts the processor time of a thread.
func CPUSeconds() float64 { return time.Since(started).Seconds() }
