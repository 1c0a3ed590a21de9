package kit

import "golang.org/x/sys/unix"

func threadSeconds() float64  { return clock(unix.CLOCK_THREAD_CPUTIME_ID) }
func processSeconds() float64 { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }

// clock reads a clock that counts nanoseconds, unlike getrusage, which counts by the kernel's ticks.
func clock(id int32) float64 {
	var used unix.Timespec
	_ = unix.ClockGettime(id, &used) // fails only for an unknown clock
	return float64(used.Nano()) / 1e9
}
