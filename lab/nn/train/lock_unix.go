//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package train

import (
	"os"
	"syscall"
)

// lock takes f for this process until it is closed, if nobody has it and the file system can.
func lock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
