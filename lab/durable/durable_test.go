package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"coupling/lab/must"
)

// A file is the old one until the new one is whole; a failure leaves nothing beside it.
func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, s)
			if b, _ := os.ReadFile(path); s == "two" && string(b) != "one" {
				t.Errorf("half way: %q", b)
			}
			return err
		}
	}
	broken := errors.New("broken")
	must.Do(errors.Join(WriteFile(path, 0o600, text("one")), WriteFile(path, 0o600, text("two"))))
	if err := WriteFile(path, 0o600, func(w io.Writer) error { _ = text("thr")(w); return broken }); !errors.Is(err,
		broken) {
		t.Errorf("a failure: %v", err)
	}
	b, err := os.ReadFile(path)
	if err != nil || string(b) != "two" {
		t.Errorf("%q, %v", b, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if err := WriteFile(filepath.Join(path, "below"), 0o600, text("x")); err == nil {
		t.Error("a file below a file")
	}
}

// One at a time, and a new file in the place of a removed one is another lock.
func TestTryLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	one := must.Get(TryLock(path))
	if _, err := TryLock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	must.Do(errors.Join(one.Close(), os.Remove(path)))
	two, err := TryLock(path)
	must.Do(errors.Join(err, two.Close()))
}

// A lock file becomes the file that it guards, held until it is closed; another takes its place if it was removed.
func TestBecome(t *testing.T) {
	for _, removed := range []bool{false, true} {
		dir := t.TempDir()
		path, guarded := filepath.Join(dir, "lock"), filepath.Join(dir, "record")
		l := must.Get(TryLock(path))
		if removed {
			must.Do(os.Remove(path))
		}
		must.Do(l.Become(guarded, []byte("whole")))
		if b, err := os.ReadFile(guarded); string(b) != "whole" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		other, err := TryLock(path)
		if err := errors.Join(err, l.Close(), other.Close()); err != nil {
			t.Errorf("the lock file is another one now: %v", err)
		}
	}
}
