package lab

import (
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// State says where a cell stands.
type State string

// The states of a cell.
const (
	IsStored  State = "stored"
	IsFailed  State = "failed"
	IsRunning State = "running" // somebody has its lock, or died with it
	IsGone    State = "gone"    // it was there at an earlier look
)

// A Change is a cell that stands otherwise than at the look before.
type Change struct {
	Key        Key
	Experiment string
	State      State
	Record     Record // of a stored or failed cell
	Err        error  // why a file cannot be trusted
}

// A Scanner follows a store: each look costs one stat a directory, and reads only
// what is new. It is not safe for concurrent use.
type Scanner struct {
	store *Store
	dirs  map[string]*scanned
}

// scanned is a directory of cells as it was last read.
type scanned struct {
	changed time.Time // of the directory
	read    time.Time // our clock
	cells   map[Key]sight
}

// sight is what a directory says of a cell.
type sight struct {
	state State
	file  string
	time  time.Time
}

// Scan returns a scanner that has not looked yet.
func (s *Store) Scan() *Scanner { return &Scanner{s, map[string]*scanned{}} }

// Look yields what has changed since the look before: everything, the first
// time. A look that is broken off is continued by the next.
func (c *Scanner) Look() iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		root := filepath.Join(c.store.Dir, "cells")
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case !d.IsDir():
				return nil
			case len(d.Name()) != 2 || !isHex(d.Name()) || path == root:
				return nil
			}
			name, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			if !c.directory(path, filepath.ToSlash(name), yield) {
				return fs.SkipAll
			}
			return fs.SkipDir
		})
		if err != nil {
			yield(Change{}, err)
		}
	}
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// directory yields the changes in one directory of cells.
func (c *Scanner) directory(path, experiment string, yield func(Change, error) bool) bool {
	fi, err := os.Stat(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) || yield(Change{}, err)
	}
	old := c.dirs[path]
	if old == nil {
		old = &scanned{cells: map[Key]sight{}}
		c.dirs[path] = old
	}
	// Times of files are coarse: what changed just before it was read is read again.
	if fi.ModTime().Equal(old.changed) && old.read.Sub(old.changed) > 3*time.Second {
		return true
	}
	now := time.Now()
	entries, err := os.ReadDir(path)
	if err != nil {
		return yield(Change{}, err)
	}
	seen := sightsOf(entries)
	for key, s := range seen {
		if old.cells[key] == s {
			continue
		}
		if !yield(c.change(path, experiment, key, s), nil) {
			return false
		}
		old.cells[key] = s
	}
	for key := range old.cells {
		if _, ok := seen[key]; !ok {
			delete(old.cells, key)
			if !yield(Change{Key: key, Experiment: experiment, State: IsGone}, nil) {
				return false
			}
		}
	}
	old.changed, old.read = fi.ModTime(), now
	return true
}

// sightsOf sorts the files of a directory by cell: a record counts most, a lock
// more than an earlier failure.
func sightsOf(entries []fs.DirEntry) map[Key]sight {
	rank := map[State]int{IsFailed: 1, IsRunning: 2, IsStored: 3}
	seen := map[Key]sight{}
	for _, e := range entries {
		key, rest, _ := strings.Cut(e.Name(), ".")
		if len(key) != keyDigits {
			continue
		}
		s := sight{file: e.Name()}
		switch {
		case rest == "json":
			s.state = IsStored
		case rest == "failed.json":
			s.state = IsFailed
		case strings.HasPrefix(rest, "lock."):
			s.state = IsRunning
		default:
			continue
		}
		if s.state != IsRunning {
			if fi, err := e.Info(); err == nil {
				s.time = fi.ModTime()
			}
		}
		if rank[s.state] > rank[seen[Key(key)].state] {
			seen[Key(key)] = s
		}
	}
	return seen
}

func (c *Scanner) change(dir, experiment string, key Key, s sight) Change {
	out := Change{Key: key, Experiment: experiment, State: s.state}
	if s.state == IsRunning {
		return out
	}
	r, err := c.store.read(filepath.Join(dir, s.file))
	if errors.Is(err, ErrMissing) {
		out.State = IsGone
		return out
	}
	out.Record, out.Err = r, err
	return out
}
