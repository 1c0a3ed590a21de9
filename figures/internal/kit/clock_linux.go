package kit

import "syscall"

// CPUSeconds is the processor time that the calling thread has used, which other processes do not lengthen.
func CPUSeconds() float64 {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_THREAD, &used) // fails only for an unknown first argument
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}
