package journal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"coupling/lab/durable"
	"coupling/lab/must"
)

// A journal that was moved or removed takes no more lines.
func TestKeepsItsName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := must.Get(open(path))
	must.Do(l.Append("one"))
	must.Do(os.Remove(path))
	if err := l.Append("two"); err == nil {
		t.Error("the file is gone, and a line was appended")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := open(os.DevNull); err == nil {
		t.Error("a device was taken for a journal")
	}
}

// A journal is open once, whatever it is called.
func TestOneLockForAllNames(t *testing.T) {
	dir := t.TempDir()
	path, hard, soft := filepath.Join(dir, "log"), filepath.Join(dir, "hard"), filepath.Join(dir, "soft")
	l := must.Get(open(path))
	if err := errors.Join(os.Link(path, hard), os.Symlink(path, soft)); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{path, hard, soft} {
		if _, err := open(name); !errors.Is(err, durable.ErrLocked) {
			t.Errorf("%s: %v, want that it is in use", filepath.Base(name), err)
		}
	}
	must.Do(l.Close())
	l = must.Get(open(hard))
	must.Do(errors.Join(l.Append("one"), l.Close()))
}

func open(path string) (*Journal, error) {
	return Open(path, "head", func(string) error { return nil })
}
