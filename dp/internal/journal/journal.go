// Package journal is the file behind the ledgers of dp: lines that are on the disk before a release is
// made.
package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"coupling/lab/durable"
)

// A Journal is a file of lines to which one process at a time appends. A killed process leaves every line
// whose Append has returned, and at most a part of the next.
type Journal struct {
	lock   *durable.Lock // of the file itself, so that all its names have one
	file   *os.File
	broken error // of an Append that may have left a part of a line
}

// OtherError reports a journal that begins with another line than was asked for. The file is left as
// it is.
type OtherError struct{ Path, Head string }

// Error names the file and its first line.
func (e *OtherError) Error() string {
	return fmt.Sprintf("%s begins with %.40q: it is of something else", e.Path, e.Head)
}

// Open opens the journal at path, or creates it for its owner alone, and locks it until Close. Its
// first line must be head; take is called with each of the others. A last line without its end is
// completed if take has no error for it, and is a part of a line otherwise, which is cut off; an
// error for another line ends Open. A link is followed. The error wraps durable.ErrLocked if it is
// open elsewhere, under this name or another.
func Open(path, head string, take func(line string) error) (*Journal, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if at, err := os.Stat(path); err == nil && !at.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a regular file", path)
	}
	l := &Journal{}
	if l.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	if l.lock, err = durable.TryLock(path); err != nil {
		return nil, errors.Join(err, l.file.Close())
	}
	if err := l.read(head, take); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Journal) read(head string, take func(line string) error) error {
	content, err := io.ReadAll(l.file)
	if err != nil {
		return err
	}
	first, rest, whole := strings.Cut(string(content), "\n")
	if !whole && strings.HasPrefix(head, first) {
		err := l.Append(head[len(first):])
		durable.SyncFolder(filepath.Dir(l.file.Name())) // so that the file's name survives too
		return err
	}
	if !whole || first != head {
		return &OtherError{l.file.Name(), first}
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

// Append writes a line and returns once it is on the disk. After an error the journal takes no more
// lines: open it again.
func (l *Journal) Append(line string) error {
	if l.broken == nil && (!l.lock.IsNamed() || !durable.IsNamed(l.file.Name(), l.file.Stat)) {
		l.broken = fmt.Errorf("%s: was moved or removed while it was open", l.file.Name())
	}
	if l.broken == nil {
		_, err := l.file.WriteString(line + "\n")
		l.broken = errors.Join(err, l.file.Sync())
	}
	return l.broken
}

// Close closes and unlocks it.
func (l *Journal) Close() error { return errors.Join(l.file.Close(), l.lock.Close()) }
