package lab

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// GC is what [Store.GC] removed, or would remove.
type GC struct {
	Cells    []Record // of older versions or result types, failed ones included
	Leftover []string // what no cell owns: temporary files, dead locks, work of killed attempts
}

// GC removes what can no longer be recalled by a program with the given
// decoders: the cells of their experiments whose version is older, or whose
// result type has changed, and what killed processes left behind and nobody has
// touched for age. Scratch counts as left behind only then. A cell that somebody
// is at work on is left alone. Cells of experiments that no decoder knows stay.
// If dry, nothing is removed.
func (s *Store) GC(ds []Decoder, age time.Duration, dry bool) (GC, error) {
	var out GC
	current := map[string]Decoder{}
	for _, d := range ds {
		current[d.Experiment()] = d
	}
	for _, records := range []func(string) recordSeq{s.records, s.failures} {
		for r, err := range records("") {
			if errors.Is(err, ErrCorrupt) {
				continue // for a person to see: `runs ls` lists it, and Do replaces it
			} else if err != nil {
				return out, err
			}
			d, ok := current[r.Experiment]
			if !ok || r.Version > d.Version() || r.Version == d.Version() && r.Shape == d.Shape() || s.busy(s.paths(r).base, age) {
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
	err := s.leftover(age, func(path string) error {
		out.Leftover = append(out.Leftover, path)
		if dry {
			return nil
		}
		return os.RemoveAll(path)
	})
	return out, err
}

// busy reports whether the cell at base has a lock whose owner may be alive.
func (s *Store) busy(base string, age time.Duration) bool {
	p := cellPaths{dir: filepath.Dir(base), base: base}
	gens, err := p.numbered(".lock.")
	if err != nil {
		return true // cannot tell
	}
	for _, g := range gens {
		o, beat, err := p.readLock(g)
		// Clocks of other machines are compared here, but with a wide margin.
		if err == nil && !o.dead() && time.Since(beat) < max(age, 10*s.timing.orDefault().stale) {
			return true
		}
	}
	return false
}

// leftover calls f with what killed processes left and nobody has touched for age.
func (s *Store) leftover(age time.Duration, f func(path string) error) error {
	return filepath.WalkDir(filepath.Join(s.Dir, "cells"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		skip := error(nil)
		if d.IsDir() && inCell(d.Name()) {
			skip = fs.SkipDir
		}
		if !s.isLeftover(path, d.Name()) {
			return skip
		}
		if touched, err := lastTouched(path); err == nil && time.Since(touched) < age {
			return skip
		}
		if err := f(path); err != nil {
			return err
		}
		return skip
	})
}

// isLeftover reports whether a file or directory belongs to no finished cell
// and to no living owner.
func (s *Store) isLeftover(path, name string) bool {
	if strings.HasPrefix(name, ".tmp-") {
		return true
	}
	key, rest, _ := strings.Cut(name, ".")
	if len(key) != 32 {
		return false
	}
	base := filepath.Join(filepath.Dir(path), key)
	switch kind, id, _ := strings.Cut(rest, "."); kind {
	case "lock", "part":
		return !s.busy(base, 0)
	case "files": // of a commit that was cut short, or of a record that was replaced
		r, err := s.read(base + ".json")
		return (errors.Is(err, ErrMissing) || err == nil && r.Attempt != id) && !s.busy(base, 0)
	}
	return false
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
