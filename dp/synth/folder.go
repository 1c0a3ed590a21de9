package synth

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coupling/dp/internal/check"
	"coupling/dp/release"
	"coupling/lab/durable"
)

// lockFile is made first and removed last, so a folder OUT.state without it is not a run's.
const lockFile = "coupling-private.lock"

// The files that a run makes: those of a data set, and those of the folder OUT.state. Temporary
// files begin with the same names.
var (
	dataFiles = []string{"synthetic.npy", "synthetic.labels.npy", "synthetic.json", "grid.png", "privacy.json",
		"privacy.txt", "summary.json"}
	stateFiles = []string{"checkpoint", ".checkpoint.partial", "ledger", "ledger.lock", "key", "published", lockFile}
)

// folder is OUT.state, locked.
type folder struct {
	out, dir string
	lock     *durable.Lock // nil: not locked
}

// openState makes the folder of an unfinished data set or opens an existing one, and refuses an Out
// that is not empty.
func openState(out string) (*folder, error) {
	out, err := filepath.Abs(out)
	if err != nil {
		return nil, err
	}
	s := &folder{out: out, dir: out + ".state"}
	occupied := s.occupied()
	if _, err := os.Lstat(s.dir); errors.Is(err, os.ErrNotExist) && occupied != nil {
		return nil, occupied
	}
	if err := s.open(); err != nil {
		return nil, err
	}
	occupied = s.occupied()
	if occupied != nil && s.isPublished() { // by a run that was killed before it removed its files
		err = s.forget()
	}
	if occupied != nil {
		s.leave()
		return nil, check.All(err, occupied)
	}
	return s, nil
}

// occupied is an error unless a folder can be renamed to Out.
func (s *folder) occupied() error {
	info, err := os.Lstat(s.out)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s: %w: must not exist, or be an empty folder", s.out, ErrOccupied)
	}
	entries, err := os.ReadDir(s.out)
	if err != nil || len(entries) == 0 {
		return err
	}
	if _, err := os.Lstat(filepath.Join(s.out, "privacy.json")); err == nil {
		return fmt.Errorf(
			"%s: %w: it holds the statement of another run, and a new run spends its own budget: give another folder",
			s.out, ErrOccupied)
	}
	return fmt.Errorf("%s: %w: it holds %s: give another folder", s.out, ErrOccupied, entries[0].Name())
}

// open makes the folder, readable by its owner only, and locks it.
func (s *folder) open() error {
	if err := os.MkdirAll(filepath.Dir(s.dir), 0o777); err != nil {
		return err
	}
	if err := os.Mkdir(s.dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	ours := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == lockFile })
	for _, e := range entries {
		if !ours || e.Name() != "data" && !isOwn(e.Name(), stateFiles) {
			return fmt.Errorf("%s: %w: it holds %s, which no run made: move it, or give another folder", s.dir,
				ErrOccupied, e.Name())
		}
	}
	if err := os.Chmod(s.dir, 0o700); err != nil {
		return err
	}
	s.lock, err = durable.TryLock(filepath.Join(s.dir, lockFile))
	return err
}

// data is the folder of the unfinished data set.
func (s *folder) data() string { return filepath.Join(s.dir, "data") }

// key is the key of the seed, or that with which the run began, or a new one, readable by its owner
// only. A run that has lost its ledger cannot go on: nobody knows what it spent.
func (s *folder) key(seed *uint64) (key release.Key, err error) {
	_, none := os.Lstat(filepath.Join(s.dir, "ledger"))
	for _, left := range []string{"checkpoint", "data"} {
		if _, err := os.Lstat(filepath.Join(s.dir, left)); err == nil && none != nil {
			return key, fmt.Errorf(
				"%s: %w: it has a %s but no ledger, which lists what was spent: move it away to begin another run, "+
					"which spends anew", s.dir, release.ErrLedger, left)
		}
	}
	if seed != nil {
		return release.SeededKey(*seed), nil
	}
	path := filepath.Join(s.dir, "key")
	switch b, err := os.ReadFile(path); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return key, err
	case len(b) != len(key):
		return key, fmt.Errorf(
			"%s: %d bytes, want the %d of a key: the run cannot go on; remove %s to begin another, which spends anew",
			path, len(b), len(key), s.dir)
	case none == nil: // without a ledger nothing was released with the key, and another is as good
		return release.Key(b), nil
	}
	key = release.NewKey()
	return key, durable.WriteFile(path, 0o600, durable.Bytes(key[:]))
}

// renew makes the folder of the unfinished data set, in place of one of an earlier attempt. The file
// published goes first: beside a missing folder it says that the data set was renamed.
func (s *folder) renew() error {
	if err := os.Remove(filepath.Join(s.dir, "published")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	durable.SyncFolder(s.dir)
	return check.All(removeOwn(s.data(), dataFiles), os.Mkdir(s.data(), 0o777))
}

// publish renames the data set to Out, which ends the run, and removes its files. The file
// published marks a whole data set; if the folder data is missing beside it, it has been renamed.
func (s *folder) publish() error {
	if err := durable.WriteFile(filepath.Join(s.dir, "published"), 0o600,
		func(io.Writer) error { return nil }); err != nil {
		return err
	}
	err := os.Remove(s.out) // only an empty folder is removed, over which os.Rename cannot move
	if err == nil || errors.Is(err, os.ErrNotExist) {
		err = os.Rename(s.data(), s.out)
	}
	if err != nil {
		return fmt.Errorf("the data set is whole, in %s, but was not renamed: %w", s.data(), err)
	}
	durable.SyncFolder(filepath.Dir(s.out))
	if err := s.forget(); err != nil {
		return fmt.Errorf("the data set is in %s, but the run's key was not removed: remove %s: %w", s.out, s.dir, err)
	}
	return nil
}

// isPublished reports whether the data set was renamed. Without its statement in Out it may have been
// lost: the run resumes, and its ledger stays.
func (s *folder) isPublished() bool {
	_, marked := os.Lstat(filepath.Join(s.dir, "published"))
	_, waiting := os.Lstat(s.data())
	_, stated := os.Lstat(filepath.Join(s.out, "privacy.json"))
	return marked == nil && errors.Is(waiting, os.ErrNotExist) && stated == nil
}

// leave unlocks the folder, and removes it if nothing was spent, that is, if there is no ledger.
func (s *folder) leave() {
	if s.lock == nil {
		return
	}
	if _, err := os.Lstat(filepath.Join(s.dir, "ledger")); errors.Is(err, os.ErrNotExist) {
		_ = s.forget() // at worst a key remains with which nothing was released
		return
	}
	s.unlock()
}

func (s *folder) unlock() {
	_ = s.lock.Close()
	s.lock = nil
}

// forget removes the files of runs, the lock last, the folder if nothing else is in it, and unlocks it.
func (s *folder) forget() error {
	defer s.unlock()
	return removeOwn(s.dir, stateFiles)
}

// isOwn reports whether a file is one of names, or a temporary file of one.
func isOwn(name string, names []string) bool {
	return slices.ContainsFunc(names, func(own string) bool {
		return name == own || strings.HasPrefix(name, own+".") && strings.HasSuffix(name, ".tmp") ||
			own == ".checkpoint.partial" && strings.HasPrefix(name, own)
	})
}

// removeOwn removes the files names, in this order, and then the folder. Other files stay, and are
// an error.
func removeOwn(dir string, names []string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, own := range names {
		for _, e := range entries {
			if isOwn(e.Name(), []string{own}) {
				if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
					return err
				}
			}
		}
	}
	return os.Remove(dir)
}
