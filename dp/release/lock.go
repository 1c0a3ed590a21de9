package release

import (
	"errors"
	"fmt"
	"os"
)

// Lock takes the file at path for this process, until it is closed or the process dies. The file is made if it is not there. The error
// wraps ErrBusy where another process has it, or has just removed it.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err = lock(f); err == nil && !isNamed(f, path) {
		err = ErrBusy
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return f, nil
}

// isNamed says whether f is the file at path: between opening and locking, the last owner may have removed it.
func isNamed(f *os.File, path string) bool {
	own, err := f.Stat()
	if err != nil {
		return false
	}
	at, err := os.Lstat(path)
	return err == nil && os.SameFile(own, at)
}
