package lab

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// files is what the store asks of the file system where an answer may be late,
// wrong or lost. Tests put faults in its place.
type files interface {
	MkdirAll(path string, perm fs.FileMode) error
	Create(path string) (diskFile, error) // which must not be there yet
	Rename(from, to string) error
	Link(from, to string) error
	ReadDir(path string) ([]fs.DirEntry, error)
}

type diskFile interface {
	io.Writer
	Sync() error
	Close() error
}

var disk files = system{}

type system struct{}

func (system) MkdirAll(path string, perm fs.FileMode) error { return os.MkdirAll(path, perm) }
func (system) Rename(from, to string) error                 { return os.Rename(from, to) }
func (system) Link(from, to string) error                   { return os.Link(from, to) }
func (system) ReadDir(path string) ([]fs.DirEntry, error)   { return os.ReadDir(path) }

func (system) Create(path string) (diskFile, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// move renames, and looks whether that came true. A network file system may have
// done it and lost the answer (the repeated request then finds no file), or may
// have answered and lost the deed.
func move(from, to string) error {
	source, err := os.Lstat(from)
	if err != nil {
		return err
	}
	for range 3 {
		err = disk.Rename(from, to)
		_, gone := os.Lstat(from)
		target, there := os.Lstat(to)
		switch {
		case errors.Is(gone, fs.ErrNotExist) && there == nil && (err == nil || os.SameFile(source, target)):
			return nil
		case errors.Is(gone, fs.ErrNotExist) && there != nil:
			return fmt.Errorf("rename %s %s: the file system has lost the file: %w", from, to, errors.Join(err, there))
		case err != nil:
			return err
		}
	}
	return fmt.Errorf("rename %s %s: the file system says that it is done, and the file is where it was: is the store on a file system with stale caches?", from, to)
}
