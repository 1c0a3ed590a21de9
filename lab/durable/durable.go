// Package durable writes files that survive crashes: whole or not at all, and locked against other processes.
package durable

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// ErrLocked marks a file that another process, or another part of this one, has locked.
var ErrLocked = errors.New("in use by another process")

// WriteFile puts what fill writes at path, whole or not at all: in PATH.*.tmp, which is synced and renamed. A process that is killed
// leaves the old file, and may leave the temporary one. The umask lowers mode.
func WriteFile(path string, mode fs.FileMode, fill func(w io.Writer) error) error {
	temporary := path + "." + rand.Text()[:8] + ".tmp"
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<18)
	err = errors.Join(fill(w), w.Flush(), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	SyncFolder(filepath.Dir(path))
	return nil
}

// SyncFolder writes the names in a folder to the disk. Not every system can; a rename is whole all the same.
func SyncFolder(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// TryLock locks the file at path, which it creates if need be, until it is closed or the process dies. Nothing is to be written there: a
// lock keeps readers out on some systems. The error wraps ErrLocked where it is locked already, or was removed by its last owner in
// the meantime.
func TryLock(path string) (io.Closer, error) {
	f := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	ok, err := f.TryLock()
	if err == nil && (!ok || !isNamed(f, path)) {
		err = fmt.Errorf("%s: %w", path, ErrLocked)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// isNamed says whether f is the file at path.
func isNamed(f *flock.Flock, path string) bool {
	own, err := f.Stat()
	if err != nil {
		return false
	}
	at, err := os.Lstat(path)
	return err == nil && os.SameFile(own, at)
}
