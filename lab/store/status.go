package store

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Status is what the store holds for a cell, judged by file names.
type Status struct {
	Stored bool // it has a record; [Job.Recall] checks whether it is whole
	Failed bool // its last attempt failed
	Locked bool // a process computes it, or died while it did
}

// String returns stored, running, failed or gone: the first that applies.
func (s Status) String() string {
	switch {
	case s.Stored:
		return "stored"
	case s.Locked:
		return "running"
	case s.Failed:
		return "failed"
	}
	return "gone"
}

// with adds the status that a file implies, given the rest of its name after the key.
func (s Status) with(suffix string) Status {
	s.Stored = s.Stored || suffix == recordSuffix
	s.Failed = s.Failed || suffix == failureSuffix
	s.Locked = s.Locked || suffix == lockSuffix
	return s
}

// Statuses returns the status of each cell, whatever its code. Cells without any file are not in
// the map. It reads directories, at most 256 for each experiment, instead of looking for each cell:
// opening a directory makes the client of a network file system ask the server, while for a single
// missing file it may trust its cache for a minute.
func (s *Store) Statuses(ids []Record) (map[Key]Status, error) {
	asked, shards := make(map[Key]bool, len(ids)), map[shard]bool{}
	for _, id := range ids {
		asked[id.Key] = true
		shards[s.shard(id)] = true
	}
	out := map[Key]Status{}
	for sh := range shards {
		files, err := sh.list()
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if k := f.key(); asked[k] {
				out[k] = out[k].with(f.suffix)
			}
		}
	}
	return out, nil
}

// Failure returns the record of the cell's last failed attempt, by any code, or [ErrMissing].
func (s *Store) Failure(id Record) (Record, error) {
	for _, r := range s.variants(id, failureSuffix) {
		return r, nil
	}
	return Record{}, ErrMissing
}

// ClearFailure removes the records of a cell's failures, so that a later one is of a later attempt.
// It also removes a finished record that cannot be trusted.
func (s *Store) ClearFailure(j Job) (err error) {
	for _, r := range s.variants(j.Record(), failureSuffix) {
		err = errors.Join(err, os.RemoveAll(s.paths(r).failure))
	}
	if _, recalled := j.recall(s); errors.Is(recalled, ErrCorrupt) {
		err = errors.Join(err, os.RemoveAll(s.paths(j.Record()).record))
	}
	if err != nil {
		return fmt.Errorf("lab: failure of %s: %w", j.key, err)
	}
	return nil
}

// A Change is a cell whose status differs from that at the previous look.
type Change struct {
	Name       string // KEY.CODE, or KEY in older stores
	Experiment string
	Status     Status // zero: the cell is gone
	Record     Record // of a stored cell, or of a failed one
	Err        error  // why a file cannot be trusted
}

// A Scanner follows a store: each look costs one stat a directory, and reads only
// what is new. It is not safe for concurrent use.
type Scanner struct {
	store *Store
	seen  map[string]*scanned // by path of the shard
}

// scanned is a shard as it was last read.
type scanned struct {
	changed time.Time               // of the directory
	read    time.Time               // our clock
	cells   map[string]observedCell // by name
	running bool                    // some cells; if their processes die, no directory changes
}

type observedCell struct {
	status Status
	time   time.Time // of its newest record
}

// Scan returns a new scanner.
func (s *Store) Scan() *Scanner { return &Scanner{s, map[string]*scanned{}} }

// Look yields the changes since the previous look; the first look yields every cell. If the loop is
// left early, the next look continues from there.
func (c *Scanner) Look() iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		for sh, err := range c.store.shards("") {
			if err != nil {
				yield(Change{}, err)
				return
			}
			if !c.look(sh, yield) {
				return
			}
		}
	}
}

func (c *Scanner) look(sh shard, yield func(Change, error) bool) bool {
	fi, err := os.Stat(sh.dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) || yield(Change{}, err)
	}
	old := c.seen[sh.dir]
	if old == nil {
		old = &scanned{cells: map[string]observedCell{}}
		c.seen[sh.dir] = old
	}
	// File times are coarse, so a directory that changed just before it was read is read again.
	if fi.ModTime().Equal(old.changed) && old.read.Sub(old.changed) > 3*time.Second && !old.running {
		return true
	}
	now := time.Now()
	files, err := sh.list()
	if err != nil {
		return yield(Change{}, err)
	}
	cells := observe(files)
	old.running = false
	for name, cell := range cells {
		if cell.status.String() == "running" {
			if c.store.isDead(sh.paths(name)) {
				cell.status = Status{Failed: true}
			} else {
				old.running = true
			}
		}
		before := old.cells[name]
		if before.status.String() == cell.status.String() && before.time.Equal(cell.time) {
			continue
		}
		if !yield(c.change(sh, name, cell.status), nil) {
			return false
		}
		old.cells[name] = cell
	}
	for name := range old.cells {
		if _, ok := cells[name]; !ok {
			delete(old.cells, name)
			if !yield(Change{Name: name, Experiment: sh.experiment}, nil) {
				return false
			}
		}
	}
	old.changed, old.read = fi.ModTime(), now
	return true
}

func observe(files []file) map[string]observedCell {
	out := map[string]observedCell{}
	for _, f := range files {
		cell := out[f.name]
		if cell.status = cell.status.with(f.suffix); cell.status == (Status{}) {
			continue
		}
		if f.suffix == recordSuffix || f.suffix == failureSuffix {
			if fi, err := f.entry.Info(); err == nil && fi.ModTime().After(cell.time) {
				cell.time = fi.ModTime()
			}
		}
		out[f.name] = cell
	}
	return out
}

// change reads the record of a stored or failed status.
func (c *Scanner) change(sh shard, name string, status Status) Change {
	out, p := Change{Name: name, Experiment: sh.experiment, Status: status}, sh.paths(name)
	switch {
	case status.Stored:
		out.Record, out.Err = c.store.read(p.record)
	case status.Failed && !status.Locked:
		if out.Record, out.Err = c.store.read(p.failure); errors.Is(out.Err, ErrMissing) {
			out.Record, out.Err = c.store.read(p.lock) // it died
		}
	}
	if errors.Is(out.Err, ErrMissing) {
		out.Status, out.Err = Status{}, nil
	}
	return out
}

// walk yields, ordered by path, the records in the files with a suffix whose keys begin with key.
func (s *Store) walk(prefix, suffix, key string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var paths []string
		read := func() bool {
			records, errs := make([]Record, len(paths)), make([]error, len(paths))
			parallel(len(paths), func(i int) { records[i], errs[i] = s.read(paths[i]) })
			paths = paths[:0]
			for i, r := range records {
				if !errors.Is(errs[i], ErrMissing) && !yield(r, errs[i]) {
					return false
				}
			}
			return true
		}
		for sh, err := range s.shards(prefix) {
			var files []file
			digits := filepath.Base(sh.dir)
			if err == nil && (strings.HasPrefix(key, digits) || strings.HasPrefix(digits, key)) {
				files, err = sh.list()
			}
			stored := map[Key]bool{}    // by any code
			failed := map[string]bool{} // names
			for _, f := range files {
				stored[f.key()] = stored[f.key()] || f.suffix == recordSuffix
				failed[f.name] = failed[f.name] || f.suffix == failureSuffix
			}
			for _, f := range files {
				died := suffix == failureSuffix && f.suffix == lockSuffix && !failed[f.name]
				switch {
				case !strings.HasPrefix(f.name, key) || f.suffix != suffix && !died:
				case suffix == failureSuffix && stored[f.key()]: // what has succeeded since is no failure
				case !died || s.isDead(sh.paths(f.name)):
					paths = append(paths, sh.path(f))
				}
			}
			if len(paths) > 8*readAhead && !read() || err != nil && !yield(Record{}, err) {
				return
			}
		}
		read()
	}
}

// readAhead is the number of records read at once; over a network most of a read is waiting.
const readAhead = 32

// parallel calls f(0) to f(n−1), several at once.
func parallel(n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(readAhead, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}
