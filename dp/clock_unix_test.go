//go:build unix

package dp

import (
	"syscall"
	"time"
)

// processorTime is what this process has used, all threads together.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for no process of its own
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
