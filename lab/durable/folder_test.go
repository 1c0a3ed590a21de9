package durable

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"coupling/lab/must"
)

// put writes the files of a run, and stops before the commit if the text of one is "full".
func put(dir string, files map[string]string, inputs ...string) (err error) {
	f, err := OpenFolder(dir, "summary.json")
	if err != nil {
		return err
	}
	defer f.Close()
	err = f.Protect(inputs...)
	for name, text := range files {
		err = errors.Join(err, f.WriteFile(name, func(w io.Writer) error {
			if text == "full" {
				return errors.New("the disk is full")
			}
			_, err := io.WriteString(w, text)
			return err
		}))
	}
	if err != nil {
		return err
	}
	return f.Commit(map[string]any{"files": f.Files()})
}

// held returns the files of a folder, but for the summary, with their texts.
func held(dir string) map[string]string {
	out := map[string]string{}
	must.Do(filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "summary.json" {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(name)] = string(b)
		return err
	}))
	return out
}

// A folder holds one run, whole; what it did not write stays, and is an error where it is in the way.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	check := func(what string, err error, fails bool, want map[string]string) {
		t.Helper()
		if (err != nil) != fails {
			t.Errorf("%s: %v", what, err)
		}
		if got := held(dir); !maps.Equal(got, want) {
			t.Errorf("%s: the folder has %v, want %v", what, got, want)
		}
	}
	mine := filepath.Join(dir, "mine")
	must.Do(os.WriteFile(mine, []byte("mine"), 0o666))
	first := map[string]string{"mine": "mine", "a": "1", "sub/b": "1"}
	check("first", put(dir, map[string]string{"a": "1", "sub/b": "1"}), false, first)
	check("full disk", put(dir, map[string]string{"a": "2", "c": "full"}), true, first)
	check("foreign", put(dir, map[string]string{"a": "2", "mine": "2"}), true, first)
	check("input", put(dir, map[string]string{"c": "2"}, filepath.Join(dir, "a")), true, first)
	second := map[string]string{"mine": "mine", "a": "2", "c": "2"}
	check("second", put(dir, map[string]string{"a": "2", "c": "2"}, mine), false, second)
	f := must.Get(OpenFolder(dir, "summary.json"))
	f.Keep = true
	f.Drop("a", "mine")
	must.Do(f.Commit(map[string]any{"files": f.Files()}))
	f.Close()
	delete(second, "a")
	check("one dropped", nil, false, second)
	must.Do(os.WriteFile(filepath.Join(dir, "summary.json"), []byte("{}"), 0o666))
	check("foreign summary", put(dir, map[string]string{"d": "3"}), true, second)
}

// A process that is killed after any of its moves leaves a folder that the next run takes over, and
// one beside it is refused.
func TestFolderKilled(t *testing.T) {
	for moves := range 3 {
		dir := t.TempDir()
		must.Do(put(dir, map[string]string{"a": "1", "old": "1"}))
		f := must.Get(OpenFolder(dir, "summary.json"))
		if _, err := OpenFolder(dir, "summary.json"); !errors.Is(err, ErrLocked) {
			t.Errorf("two at once: %v", err)
		}
		for _, name := range []string{"a", "new"} {
			must.Do(f.WriteFile(name, func(w io.Writer) error {
				_, err := io.WriteString(w, "2")
				return err
			}))
		}
		must.Do(f.WriteFile("summary.json", func(w io.Writer) error {
			return json.NewEncoder(w).Encode(map[string]any{"files": f.Files()})
		}))
		for _, name := range []string{"a", "new"}[:moves] {
			must.Do(f.move(name))
		}
		if err := f.lock.Close(); err != nil { // as the system does
			t.Fatal(err)
		}
		if err := put(dir, map[string]string{"new": "3"}); err != nil {
			t.Errorf("after %d moves: %v", moves, err)
		}
		if got := held(dir); !maps.Equal(got, map[string]string{"new": "3"}) {
			t.Errorf("after %d moves: %v", moves, got)
		}
	}
}
