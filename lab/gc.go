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

// GC is what [Store.GC] removed, or would remove.
type GC struct {
	Cells    []Record // of older versions or result types, failed ones included
	Leftover []string // files without a cell: temporary files, dead locks, work of killed attempts
}

// GC removes what a program with the given decoders can no longer recall: cells of their
// experiments with an older version or another result type, and files of killed processes that have
// not changed for age; the same holds for scratch. It keeps cells that a process is computing and
// cells of experiments that no decoder knows. If dry, it removes nothing.
func (s *Store) GC(ds []Decoder, age time.Duration, dry bool) (GC, error) {
	var out GC
	current := map[string]Decoder{}
	for _, d := range ds {
		current[d.Experiment] = d
	}
	for _, records := range []iter.Seq2[Record, error]{s.Records(""), s.Failures("")} {
		for r, err := range records {
			if errors.Is(err, ErrCorrupt) {
				continue // kept: `runs ls` lists it, and Do replaces it
			} else if err != nil {
				return out, err
			}
			d, ok := current[r.Experiment]
			if !ok || r.Version > d.Version || r.Version == d.Version && r.Shape == d.Shape || s.paths(r).busy() {
				continue
			}
			out.Cells = append(out.Cells, r)
			if dry {
				continue
			}
			if err := s.Remove(r); err != nil {
				return out, err
			}
		}
	}
	var err error
	out.Leftover, err = s.leftover(age)
	if dry {
		return out, err
	}
	for _, path := range out.Leftover {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return out, err
}

// leftover lists the files of killed processes that have not changed for age.
func (s *Store) leftover(age time.Duration) (out []string, err error) {
	for sh, err := range s.shards("") {
		if err != nil {
			return out, err
		}
		entries, err := sh.list()
		if err != nil {
			return out, err
		}
		for _, e := range entries {
			path := filepath.Join(sh.path, e.Name())
			if !s.isLeftover(sh, e.Name()) {
				continue
			}
			if touched, err := lastTouched(path); err != nil || time.Since(touched) >= age {
				out = append(out, path)
			}
		}
	}
	return out, nil
}

// isLeftover reports whether a file or directory of a shard belongs neither to a finished cell nor
// to a running process.
func (s *Store) isLeftover(sh shard, name string) bool {
	if strings.HasSuffix(name, tmpSuffix) {
		return true
	}
	key, suffix, ok := keyOf(name)
	if !ok {
		return false
	}
	p := sh.paths(key)
	if attempt, ok := strings.CutPrefix(suffix, filesSuffix); ok { // of a commit that was cut short, or of a record that was replaced
		r, err := s.read(p.record)
		return (errors.Is(err, ErrMissing) || err == nil && r.Attempt != attempt) && !p.busy()
	}
	return (suffix == lockSuffix || suffix == scratchSuffix) && !p.busy()
}

// lastTouched is the newest modification time at or below path.
func lastTouched(path string) (time.Time, error) {
	var newest time.Time
	err := filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err == nil && fi.ModTime().After(newest) {
			newest = fi.ModTime()
		}
		return err
	})
	return newest, err
}
