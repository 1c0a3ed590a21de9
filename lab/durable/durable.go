// Package durable writes files that survive crashes: it replaces a file whole or not at all, appends
// lines that are on the disk before it returns, and locks files against other processes.
package durable

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// ErrLocked marks a file that is locked by another process, or by another part of this one.
var ErrLocked = errors.New("in use by another process")

// WriteFile writes the output of fill to path, whole or not at all: to PATH.*.tmp, which is then
// synced and renamed. It makes missing folders. A killed process leaves the old file, and may leave
// the temporary one. The umask lowers mode. An existing path that is not a regular file (a pipe, a
// device) is written directly; a link is followed.
func WriteFile(path string, mode fs.FileMode, fill func(w io.Writer) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s was not written: %w", path, err)
		}
	}()
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
	w := bufio.NewWriterSize(f, 1<<16)
	err = errors.Join(fill(w), w.Flush())
	if direct {
		return errors.Join(err, f.Close())
	}
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(to, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(to))
	}
	SyncFolder(filepath.Dir(path))
	return nil
}

// Write is [WriteFile] of b with mode 0666.
func Write(path string, b []byte) error {
	return WriteFile(path, 0o666, func(w io.Writer) error { _, err := w.Write(b); return err })
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

// SyncFolder writes the names in a folder to the disk. Not every system can; a rename is atomic in
// any case.
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
	if err == nil && (!ok || !l.isNamed()) {
		err = fmt.Errorf("%s: %w", path, ErrLocked)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Become is [Write], but the lock file itself is filled, synced and renamed to path, which takes half the time of making
// a second file. A killed process leaves a lock file that nobody holds. If the lock file has been removed, another is made.
func (l *Lock) Become(path string, b []byte) error {
	if !l.isNamed() {
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
	if err != nil {
		return fmt.Errorf("%s was not written: %w", path, err)
	}
	SyncFolder(filepath.Dir(path))
	return nil
}

// isNamed reports whether the lock file is still at its path.
func (l *Lock) isNamed() bool { return isNamed(l.Path(), l.Stat) }

// isNamed reports whether the open file with this status is at the path.
func isNamed(path string, status func() (fs.FileInfo, error)) bool {
	own, err := status()
	if err != nil {
		return false
	}
	at, err := os.Lstat(path)
	return err == nil && os.SameFile(own, at)
}

// A Log is a file of lines to which one process at a time appends. A killed process leaves every line
// whose Append has returned, and at most a part of the next.
type Log struct {
	lock   *Lock // of the file PATH.lock
	file   *os.File
	broken error // of an Append that may have left a part of a line
}

// OtherLogError reports a log that begins with another line than was asked for. The file is left as
// it is.
type OtherLogError struct{ Path, Head string }

// Error names the file and its first line.
func (e *OtherLogError) Error() string {
	return fmt.Sprintf("%s begins with %.40q: it is another log", e.Path, e.Head)
}

// OpenLog opens the log at path, or creates it for its owner alone, and locks it until Close. Its
// first line must be head; take is called with each of the others. A last line without its end is
// completed if take has no error for it, and is a part of a line otherwise, which is cut off; an
// error for another line ends OpenLog. A link is followed. The error wraps ErrLocked if the log is
// open elsewhere.
func OpenLog(path, head string, take func(line string) error) (*Log, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // so that two names have one lock
	}
	if at, err := os.Stat(path); err == nil && !at.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a regular file", path)
	}
	lock, err := TryLock(path + ".lock")
	if err != nil {
		return nil, err
	}
	l := &Log{lock: lock}
	if l.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if err := l.read(head, take); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Log) read(head string, take func(line string) error) error {
	content, err := io.ReadAll(l.file)
	if err != nil {
		return err
	}
	first, rest, whole := strings.Cut(string(content), "\n")
	if !whole && strings.HasPrefix(head, first) {
		err := l.Append(head[len(first):])
		SyncFolder(filepath.Dir(l.file.Name())) // so that the file's name survives too
		return err
	}
	if !whole || first != head {
		return &OtherLogError{l.file.Name(), first}
	}
	size := len(head) + 1
	for line := range strings.Lines(rest) {
		text, whole := strings.CutSuffix(line, "\n")
		err := take(text)
		switch {
		case err == nil && !whole:
			return l.Append("")
		case err == nil:
			size += len(line)
		case !whole:
			return l.file.Truncate(int64(size))
		default:
			return fmt.Errorf("%s: byte %d: %w", l.file.Name(), size, err)
		}
	}
	return nil
}

// Append writes a line and returns once it is on the disk. After an error the log takes no more
// lines: open it again.
func (l *Log) Append(line string) error {
	if l.broken == nil && (!l.lock.isNamed() || !isNamed(l.file.Name(), l.file.Stat)) {
		l.broken = fmt.Errorf("%s: it or its lock was moved or removed while it was open", l.file.Name())
	}
	if l.broken == nil {
		_, err := l.file.WriteString(line + "\n")
		l.broken = errors.Join(err, l.file.Sync())
	}
	return l.broken
}

// Close closes and unlocks the log.
func (l *Log) Close() error { return errors.Join(l.file.Close(), l.lock.Close()) }
