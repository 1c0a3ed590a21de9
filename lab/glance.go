package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Presence is what the names of files in the store say of a cell.
type Presence struct {
	Stored bool // it has a record; whether that is whole, [Job.Recall] tells
	Failed bool // its last attempt failed
	Locked bool // somebody is at work on it, or died at it
}

// Glance returns what there is of the cells ids; one of which there is nothing
// is absent from the map. It reads directories, at most 256 an experiment,
// instead of looking for each cell: opening a directory makes the client of a
// network file system ask the server again, where it may go on believing for a
// minute that a file is not there.
func (s *Store) Glance(ids []Record) (map[Key]Presence, error) {
	dirs := map[string]map[Key]bool{}
	for _, id := range ids {
		dir := s.paths(id).dir
		if dirs[dir] == nil {
			dirs[dir] = map[Key]bool{}
		}
		dirs[dir][id.Key] = true
	}
	out := map[Key]Presence{}
	for dir, keys := range dirs {
		if err := glance(dir, keys, out); err != nil {
			return nil, fmt.Errorf("lab: store: %w", err)
		}
	}
	return out, nil
}

func glance(dir string, keys map[Key]bool, out map[Key]Presence) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, e := range entries {
		key, rest, _ := strings.Cut(filepath.Base(e.Name()), ".")
		if !keys[Key(key)] {
			continue
		}
		p := out[Key(key)]
		p.Stored = p.Stored || rest == "json"
		p.Failed = p.Failed || rest == "failed.json"
		p.Locked = p.Locked || strings.HasPrefix(rest, "lock.")
		out[Key(key)] = p
	}
	return nil
}

// Failure returns the record of the cell's last attempt if that failed, or
// [ErrMissing].
func (s *Store) Failure(id Record) (Record, error) { return s.read(s.paths(id).failure) }

// Forgive removes the record of a failure, so that one that is there later is
// of a later attempt.
func (s *Store) Forgive(id Record) error {
	if err := os.Remove(s.paths(id).failure); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("lab: forgive %s: %w", id.Key, err)
	}
	return nil
}
