package train

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// writeFile puts a checkpoint at path, whole or not at all. sync makes the rename last.
func writeFile(path string, s *snapshot, sync func(dir *os.File) error) (err error) {
	dir, err := os.Open(filepath.Dir(path)) // what cannot be synced is found before anything is written
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := temporary(path)
	if err != nil {
		return err
	}
	defer f.Close() // the lock is kept until the file has its name, or none
	defer func() {
		if err != nil && !errors.Is(err, ErrUnsynced) {
			_ = os.Remove(f.Name())
		}
	}()
	if err := encode(f, s); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	if err := sync(dir); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsynced, err)
	}
	return nil
}

// temporary opens an empty file beside path. Its name is the same for every save, so that what a killed process left is
// written over by the next; only while another process saves to path too, or where files cannot be locked, is it a
// name of its own. Its mode is what the umask leaves of 0666.
func temporary(path string) (*os.File, error) {
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".partial")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err == nil && lock(f) && named(f, name) && f.Truncate(0) == nil {
		return f, nil
	}
	if err == nil {
		f.Close()
	}
	for i := range 1000 {
		f, err = os.OpenFile(fmt.Sprintf("%s-%d-%d", name, os.Getpid(), i), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, err
}

// named reports whether f is the plain file called name: between opening and locking, another process may have given it
// another name, that of the checkpoint.
func named(f *os.File, name string) bool {
	at, err := os.Lstat(name)
	if err != nil {
		return false
	}
	own, err := f.Stat()
	return err == nil && own.Mode().IsRegular() && os.SameFile(own, at)
}
