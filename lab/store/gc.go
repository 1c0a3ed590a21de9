package store

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
	Cells    []Record // of older versions, result types or code, failed ones included; without values
	Leftover []string // files without a cell: temporary files, dead locks, work of killed attempts
}

// GC removes cells that are out of date, and files of killed processes that have not changed for
// leftover; the same holds for scratch. Of the experiments that ds know, cells of an older version
// or another result type are out of date. If computed longer ago than old, so are cells of other
// experiments with an older version than the newest in the store, and what old code computed of a
// cell: all but the newest result and those of current code. It keeps cells that a process is
// computing. If dry, it removes nothing.
func (s *Store) GC(
	ds []*Decoder, current func(Record) bool, leftover, old time.Duration, dry bool,
) (GC, error) {
	var out GC
	c, err := s.census(ds)
	if err != nil {
		return out, err
	}
	for _, r := range c.records {
		if !c.outdated(r, current, old) || s.paths(r).busy() {
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
	out.Leftover, err = s.leftover(leftover)
	if dry {
		return out, err
	}
	for _, path := range out.Leftover {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return out, err
}

// A census is what a store holds, and what is the newest of it.
type census struct {
	decoders map[string]*Decoder
	records  []Record       // without values
	version  map[string]int // by experiment
	newest   map[Key]Record // that did not fail
}

func (s *Store) census(ds []*Decoder) (census, error) {
	c := census{decoders: map[string]*Decoder{}, version: map[string]int{}, newest: map[Key]Record{}}
	for _, d := range ds {
		c.decoders[d.Experiment] = d
	}
	for _, records := range []iter.Seq2[Record, error]{s.Records(""), s.Failures("")} {
		for r, err := range records {
			if errors.Is(err, ErrCorrupt) {
				continue // kept: `runs ls` lists it, and Do replaces it
			} else if err != nil {
				return c, err
			}
			r.Value, r.Params, r.Artifacts = nil, nil, nil
			c.records = append(c.records, r)
			c.version[r.Experiment] = max(c.version[r.Experiment], r.Version)
			if n, ok := c.newest[r.Key]; r.Error == "" && (!ok || r.Manifest.Start.After(n.Manifest.Start)) {
				c.newest[r.Key] = r
			}
		}
	}
	return c, nil
}

func (c census) outdated(r Record, current func(Record) bool, old time.Duration) bool {
	d, known := c.decoders[r.Experiment]
	if known && (r.Version < d.Version || r.Version == d.Version && r.Shape != d.shape()) {
		return true
	}
	if time.Since(r.Manifest.Start) < old {
		return false
	}
	if !known && r.Version < c.version[r.Experiment] {
		return true
	}
	newest, ok := c.newest[r.Key]
	return ok && r.Name() != newest.Name() && !current(r)
}

// leftover lists the files of killed processes that have not changed for age.
func (s *Store) leftover(age time.Duration) (out []string, err error) {
	for sh, err := range s.shards("") {
		if err != nil {
			return out, err
		}
		files, err := sh.list()
		if err != nil {
			return out, err
		}
		for _, f := range files {
			if !s.isLeftover(sh, f) {
				continue
			}
			if touched, err := lastTouched(sh.path(f)); err != nil || time.Since(touched) >= age {
				out = append(out, sh.path(f))
			}
		}
	}
	return out, nil
}

// isLeftover reports whether a file or folder of a shard is neither a finished cell's nor in use.
func (s *Store) isLeftover(sh shard, f file) bool {
	if strings.HasSuffix(f.suffix, tmpSuffix) {
		return true
	}
	p := sh.paths(f.name)
	// of a commit that was cut short, or of a record that was replaced
	if attempt, ok := strings.CutPrefix(f.suffix, filesSuffix); ok {
		r, err := s.read(p.record)
		return (errors.Is(err, ErrMissing) || err == nil && r.Attempt != attempt) && !p.busy()
	}
	return (f.suffix == lockSuffix || f.suffix == scratchSuffix) && !p.busy()
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
