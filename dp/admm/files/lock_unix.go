//go:build unix

package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock takes f for this process until it is closed or the process dies.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errBusy
	}
	return err
}
