package journal

import (
	"os"
	"path/filepath"
	"testing"
)

// A journal that was moved or removed takes no more lines, nor does one whose lock was removed.
func TestKeepsItsName(t *testing.T) {
	for _, remove := range []string{"log", "log.lock"} {
		dir := t.TempDir()
		l, err := Open(filepath.Join(dir, "log"), "head", func(string) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Append("one"); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, remove)); err != nil {
			t.Fatal(err)
		}
		if err := l.Append("two"); err == nil {
			t.Errorf("%s is gone, and a line was appended", remove)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Open(os.DevNull, "head", nil); err == nil {
		t.Error("a device was taken for a journal")
	}
}
