package store

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coupling/lab/durable"
)

// A Store is a directory of finished cells, safe to share between goroutines,
// processes and, over a network file system, machines.
type Store struct {
	Dir string
	// SameCode recalls only cells that were computed by this program's code; others are computed
	// too, and kept beside. Experiments in notebook cells, main packages and other modules always
	// behave so. If the code is not known, only what this very program computed is the same.
	SameCode bool
}

func (s *Store) create(p cellPaths) error {
	if s.Dir == "" {
		return errors.New("lab: store: Dir is empty; lab.OpenStore finds one")
	}
	if err := os.MkdirAll(p.dir, 0o777); err != nil {
		return fmt.Errorf("lab: store: %w; $COUPLING_STORE may name another folder", err)
	}
	ignore := filepath.Join(s.Dir, ".gitignore") // results are not source
	if _, err := os.Stat(ignore); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.WriteFile(ignore, []byte("*\n"), 0o666); err != nil {
		return fmt.Errorf("lab: store: %w", err)
	}
	return nil
}

// Writable tries to write and returns an error if cells cannot be stored: the store is read-only,
// or the disk is full. It leaves no files.
func (s *Store) Writable() error {
	if err := durable.Writable(s.Dir); err != nil {
		return fmt.Errorf("lab: store %s cannot be written: %w; --store or $COUPLING_STORE names another folder",
			s.Dir, err)
	}
	return nil
}

// read returns the finished record at path, or [ErrMissing], [ErrCorrupt] or the system's error.
func (s *Store) read(path string) (Record, error) {
	b, err := durable.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, ErrMissing
	} else if err != nil {
		return Record{}, fmt.Errorf("lab: %w", err)
	}
	r, err := decodeRecord(b)
	if err != nil {
		return Record{}, fmt.Errorf("lab: %s: %w", path, err)
	}
	name, _, _ := cut(filepath.Base(path))
	r.keyOnly = name == string(r.Key)
	if r.Name() != name {
		return Record{}, fmt.Errorf("lab: %s: %w: it holds the cell %s", path, ErrCorrupt, r.Name())
	}
	for _, a := range r.Artifacts {
		name := filepath.Join(s.Files(r), filepath.FromSlash(a.Name))
		if fi, err := os.Stat(name); err != nil || fi.Size() != a.Size {
			return Record{}, fmt.Errorf("lab: %s: %w: want %d bytes", name, ErrCorrupt, a.Size)
		}
	}
	return r, nil
}

// store hands the file that holds r to write, which stores it durably and atomically.
func (r Record) store(write func([]byte) error) error {
	b, err := r.JSON()
	if err != nil {
		return fmt.Errorf("lab: cannot store %s %s: %w", r.Experiment, r.Key, err)
	}
	return write(b)
}

// variants returns the records of a cell of any code, or of its failures, the newest first. If the cell's
// files are not given, it lists its folder.
func (s *Store) variants(id Record, suffix string, files ...file) (out []Record) {
	sh := s.shard(id)
	if len(files) == 0 {
		files, _ = sh.list() // what cannot be read is not there
	}
	for _, f := range files {
		if f.suffix == suffix && f.key() == id.Key {
			if r, err := s.read(sh.path(f)); err == nil {
				out = append(out, r)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Record) int { return b.Manifest.Start.Compare(a.Manifest.Start) })
	return out
}

// Records yields every finished cell of the experiments whose names begin with prefix ("" for all),
// ordered by path. A file that cannot be trusted is yielded as an error and does not end the walk.
func (s *Store) Records(prefix string) iter.Seq2[Record, error] {
	return s.walk(prefix, recordSuffix, "")
}

// Failures yields the last failure of every cell that failed and has not succeeded since: also of
// those whose process died and could not say so.
func (s *Store) Failures(prefix string) iter.Seq2[Record, error] {
	return s.walk(prefix, failureSuffix, "")
}

// Find returns the finished cell whose key, or KEY.CODE, begins with prefix, or else the failed
// one. It fails when there is none, or more than one. KEY and CODE may both be cut short.
func (s *Store) Find(prefix string) (Record, error) {
	found, err := s.FindAll(prefix)
	switch {
	case err != nil:
		return Record{}, err
	case len(found) > 1:
		return Record{}, fmt.Errorf("lab: cell %q: several begin so, name one of %s", prefix, Names(found))
	}
	return found[0], nil
}

// Names lists up to six cells, KEY.CODE each, and the number of the others.
func Names(cells []Record) string {
	var names []string
	for _, r := range cells {
		names = append(names, r.Name())
	}
	if more := len(names) - 6; more > 0 {
		names = append(names[:6], fmt.Sprintf("%d more", more))
	}
	return orList(names)
}

// FindAll returns the finished cells that [Find] would choose from, or else the failed ones. The
// error is [ErrMissing] if there is none.
func (s *Store) FindAll(prefix string) ([]Record, error) {
	key, code, _ := strings.Cut(prefix, ".")
	for _, suffix := range []string{recordSuffix, failureSuffix} {
		var found []Record
		for r, err := range s.walk("", suffix, key) {
			if err == nil && strings.HasPrefix(r.Code, code) {
				found = append(found, r)
			} else if err != nil && !errors.Is(err, ErrCorrupt) {
				return nil, err
			}
		}
		if key != "" && len(found) > 0 {
			return found, nil
		}
	}
	return nil, fmt.Errorf("lab: cell %q: %w", prefix, ErrMissing)
}

// Remove removes what one code computed of a cell: its record first, then its other files.
func (s *Store) Remove(r Record) error {
	sh := s.shard(r)
	beside, err := sh.list()
	err = errors.Join(os.RemoveAll(s.paths(r).record), err) // no error if there is none
	for _, f := range beside {
		if f.name == r.Name() {
			err = errors.Join(err, os.RemoveAll(sh.path(f)))
		}
	}
	if err != nil {
		return fmt.Errorf("lab: remove %s: %w", r.Key, err)
	}
	return nil
}

// Files returns the folder of a cell's artifacts.
func (s *Store) Files(r Record) string { return s.paths(r).files(r.Attempt) }

// OpenArtifact opens an artifact of a list, whose files are in dir, after checking its checksum.
func OpenArtifact(dir string, list []Artifact, name string) (*os.File, error) {
	for _, a := range list {
		if a.Name != name {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		sum, size, err := durable.Digest(path)
		if err != nil {
			return nil, fmt.Errorf("lab: artifact: %w", err)
		}
		if size != a.Size || sum != a.SHA256 {
			return nil, fmt.Errorf("lab: %s: %w: SHA-256 %.8s, want %.8s", path, ErrCorrupt, sum, a.SHA256)
		}
		return os.Open(path)
	}
	return nil, fmt.Errorf("lab: artifact %q: %w", name, ErrMissing)
}

// Verify reads the artifacts of r and compares their checksums, which recalling
// a cell does not. Its error is [ErrCorrupt] and names the file.
func (s *Store) Verify(r Record) error {
	for _, a := range r.Artifacts {
		f, err := OpenArtifact(s.Files(r), r.Artifacts, a.Name)
		if err != nil {
			return err
		}
		f.Close()
	}
	return nil
}
