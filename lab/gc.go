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
	Cells    []Record // of older versions or result types
	Leftover []string // files that no cell owns: temporary files, dead locks, work of killed attempts
}

// GC removes what can no longer be recalled by a program with the given
// decoders: the cells of their experiments whose version is older, or whose
// result type has changed, and files that killed processes left behind and
// nobody has touched for age. Scratch counts as left behind only then. Cells of
// experiments that no decoder knows stay. If dry, nothing is removed.
func (s *Store) GC(ds []Decoder, age time.Duration, dry bool) (GC, error) {
	var out GC
	current := map[string]Decoder{}
	for _, d := range ds {
		current[d.Experiment()] = d
	}
	for r, err := range s.Records("") {
		if errors.Is(err, ErrCorrupt) {
			continue // for a person to see: `runs ls` lists it, and Do replaces it
		} else if err != nil {
			return out, err
		}
		if d, ok := current[r.Experiment]; !ok || r.Version > d.Version() || r.Version == d.Version() && r.Shape == d.Shape() {
			continue
		}
		if !dry {
			if err := s.Remove(r); err != nil {
				return out, err
			}
		}
		out.Cells = append(out.Cells, r)
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

// leftover calls f with what killed processes left and nobody has touched for age.
func (s *Store) leftover(age time.Duration, f func(path string) error) error {
	return filepath.WalkDir(filepath.Join(s.Dir, "cells"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		if strings.HasSuffix(d.Name(), ".files") && d.IsDir() {
			record := strings.TrimSuffix(path, ".files") + ".json"
			if _, err := os.Stat(record); err == nil {
				return fs.SkipDir
			}
		} else if !isLeftover(d.Name()) {
			return nil
		}
		if touched, err := lastTouched(path); err == nil && time.Since(touched) < age {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err := f(path); err != nil {
			return err
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
}

func isLeftover(name string) bool {
	if strings.HasPrefix(name, ".tmp-") {
		return true
	}
	_, rest, _ := strings.Cut(name, ".")
	return len(name) > 32 && (strings.HasPrefix(rest, "lock.") || strings.HasPrefix(rest, "part."))
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
