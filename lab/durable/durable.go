// Package durable writes files that survive crashes: it replaces a file whole or not at all, and
// locks files against other processes.
package durable

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
)

// ErrLocked marks a file that is locked by another process, or by another part of this one.
var ErrLocked = errors.New("in use by another process")

// WriteFile writes the output of fill to path, whole or not at all: to PATH.*.tmp, which is then
// synced and renamed. It makes missing folders. A killed process leaves the old file, and may leave
// the temporary one. The umask lowers mode. An existing path that is not a regular file (a pipe, a
// device) is written directly; a link is followed.
func WriteFile(path string, mode fs.FileMode, fill func(w io.Writer) error) (err error) {
	defer func() { err = notWritten(path, err) }()
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	to, flags := path+"."+rand.Text()[:8]+".tmp", os.O_WRONLY|os.O_CREATE|os.O_EXCL
	at, missing := os.Lstat(path)
	direct := missing == nil && !at.Mode().IsRegular()
	if direct {
		to, flags = path, os.O_WRONLY|os.O_TRUNC
	} else if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(to, flags, mode)
	if err != nil {
		return err
	}
	err = fillFile(f, !direct, fill)
	if direct {
		return err
	}
	if err == nil {
		err = os.Rename(to, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(to))
	}
	SyncFolder(filepath.Dir(path))
	return nil
}

func notWritten(path string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s was not written: %w", path, err)
	}
	return err
}

// Bytes fills a file with b.
func Bytes(b []byte) func(io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(b); return err }
}

// Write is [WriteFile] of b with mode 0666.
func Write(path string, b []byte) error {
	return WriteFile(path, 0o666, Bytes(b))
}

// ReadFile is [os.ReadFile], but a pipe or a device is an error, and not waited for.
func ReadFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: it is no file, but %s", path, fi.Mode())
	}
	b := make([]byte, fi.Size(), fi.Size()+512)
	n, err := io.ReadFull(f, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // it was cut short meanwhile
		err = nil
	}
	return b[:n], err
}

// Nearest returns the first folder of which holds is true, of dir and those above it.
func Nearest(dir string, holds func(dir string) bool) (at string, ok bool) {
	at, err := filepath.Abs(dir)
	for ; err == nil; at = filepath.Dir(at) {
		if holds(at) {
			return at, true
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return "", false
}

// Digest returns the SHA-256 of a file, in hexadecimal digits, and its size.
func Digest(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// SyncFolder writes the names in a folder to the disk, if it can. A rename is atomic anyway.
func SyncFolder(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// A Lock is a file that others cannot lock until it is closed or the process dies.
type Lock struct{ *flock.Flock }

// TryLock locks the file at path, which it creates if need be. Do not write to it: on some systems
// a lock keeps readers out. The error wraps ErrLocked if it is already locked, or if its last owner
// removed it in the meantime.
func TryLock(path string) (*Lock, error) {
	l := &Lock{flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o666))}
	ok, err := l.TryLock()
	if err == nil && (!ok || !l.IsNamed()) {
		err = fmt.Errorf("%s: %w", path, ErrLocked)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Become is [Write], but the lock file itself is filled, synced and renamed to path, which takes
// half the time of making a second file. A killed process leaves a lock file that nobody holds. If
// the lock file has been removed, another is made.
func (l *Lock) Become(path string, b []byte) error {
	if !l.IsNamed() {
		return Write(path, b)
	}
	f, err := os.OpenFile(l.Path(), os.O_WRONLY|os.O_TRUNC, 0)
	if err == nil {
		_, err = f.Write(b)
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err == nil {
		err = os.Rename(l.Path(), path)
	}
	SyncFolder(filepath.Dir(path))
	return notWritten(path, err)
}

// IsNamed reports whether the lock file is still at its path: if not, another can lock the path too.
func (l *Lock) IsNamed() bool { return IsNamed(l.Path(), l.Stat) }

// IsNamed reports whether the open file with this status is at the path.
func IsNamed(path string, status func() (fs.FileInfo, error)) bool {
	own, err := status()
	if err != nil {
		return false
	}
	at, err := os.Lstat(path)
	return err == nil && os.SameFile(own, at)
}

// Writable tries to write in a folder, or where it is missing in the nearest one above it, and
// returns the system's reason if that fails, as on a full disk. It leaves no files.
func Writable(dir string) error {
	for _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist); _, err = os.Lstat(dir) {
		dir = filepath.Dir(dir)
	}
	f, err := os.CreateTemp(dir, "*.tmp")
	if err == nil {
		_, err = f.Write(make([]byte, 64<<10))
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err // its file has a random name
	}
	return err
}
