package data

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coupling/data/format"
	"coupling/lab/durable"
	"coupling/lab/must"
)

var allFields = cmp.AllowUnexported(Images{})

func TestSaveAndLoad(t *testing.T) {
	dir := t.TempDir()
	labelled := numbered(4, 3, 2, 5, 2)
	labelled.Lo, labelled.Hi = -1, 1
	plain := numbered(3, 1, 2, 2, 1)
	plain.Labels, plain.Classes = nil, nil
	empty := numbered(0, 1, 2, 2, 3)
	for name, m := range map[string]*Images{"labelled": labelled, "plain": plain, "empty": empty} {
		path := filepath.Join(dir, name+".npy")
		must.Do(m.Save(path))
		got := must.Get(Load(path))
		if diff := cmp.Diff(m, got, allFields); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 3*3-1 {
		t.Errorf("files %q: want pixels, labels and JSON of each, nothing temporary", files)
	}
}

// Saving again with other content replaces it; old labels do not come back.
func TestSaveOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npy")
	m := numbered(4, 1, 2, 2, 2)
	must.Do(m.Save(path))
	m.Labels, m.Classes = nil, nil
	must.Do(m.Save(path))
	got := must.Get(Load(path))
	if diff := cmp.Diff(m, got, allFields); diff != "" {
		t.Error(diff)
	}
}

func TestSaveRefuses(t *testing.T) {
	m := numbered(4, 1, 2, 2, 2)
	wantError(t, m.Save("x.txt"), `"x.txt"`, ".npy")
	file := filepath.Join(t.TempDir(), "file")
	must.Do(os.WriteFile(file, nil, 0o666))
	wantError(t, m.Save(filepath.Join(file, "x.npy")), "not a directory")
	m.Labels = m.Labels[1:]
	wantError(t, m.Save("x.npy"), "3 labels for 4 images")
}

// What a crash between two of Save's renames leaves is refused, as is any
// damage to any of the three files.
func TestLoadRefuses(t *testing.T) {
	first, second := numbered(4, 1, 2, 2, 2), numbered(4, 1, 2, 2, 2)
	second.pixels[0] = 99
	second.Labels = []int{1, 1, 1, 1}
	for _, test := range []struct {
		name, file string
		change     func(string) string // of the first, which is the second's without
		text       string
	}{
		{"second's note", ".json", nil, "x.npy"},
		{"second's labels", ".labels.npy", nil, "x.labels.npy"},
		{"second's pixels", ".npy", nil, "x.npy"},
		{"truncated", ".npy", func(b string) string { return b[:len(b)-3] }, "truncated"},
		{"trailing", ".npy", func(b string) string { return b + "x" }, "trailing"},
		{"half a note", ".json", func(b string) string { return b[:20] }, "x.json"},
		{"a mad range", ".json",
			func(b string) string { return strings.Replace(b, `"hi": 16`, `"hi": -3`, 1) }, "range [0, -3]"},
		{"fewer classes", ".json", func(b string) string {
			return strings.NewReplacer(`"class 1"`, ``, `"class 0",`, `"class 0"`).Replace(b)
		}, "label 1 of image 1: want 0 to 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			x, y := filepath.Join(t.TempDir(), "x"), filepath.Join(t.TempDir(), "y")
			must.Do(errors.Join(first.Save(x+".npy"), second.Save(y+".npy")))
			if test.change != nil {
				edit(t, x+test.file, test.change)
			} else {
				must.Do(os.Rename(y+test.file, x+test.file))
			}
			m, err := Load(x + ".npy")
			if !errors.Is(err, ErrCorrupt) || m != nil {
				t.Errorf("error %v: want ErrCorrupt and no images", err)
			}
			wantError(t, err, test.text)
		})
	}
	if _, err := Load(filepath.Join(t.TempDir(), "x.npy")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: error %v", err)
	}
}

func edit(t *testing.T, path string, change func(string) string) {
	t.Helper()
	b := must.Get(os.ReadFile(path))
	changed := change(string(b))
	if changed == string(b) {
		t.Fatalf("%s was not changed", path)
	}
	must.Do(os.WriteFile(path, []byte(changed), 0o666))
}

// Arrays from NumPy come without a note.
func TestLoadBare(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "bare.npy")
	array := func(name string, shape []int, values []float32) {
		must.Do(durable.WriteFile(filepath.Join(dir, name), 0o666,
			func(w io.Writer) error { return format.WriteNPY(w, shape, values) }))
	}
	array("bare.npy", []int{2, 1, 2}, []float32{-3, 0, 4, 5})
	m := must.Get(Load(path))
	want := &Images{Name: "bare", Lo: -3, Hi: 5, pixels: []float32{-3, 0, 4, 5}, n: 2, c: 1, h: 1, w: 2}
	if diff := cmp.Diff(want, m, allFields); diff != "" {
		t.Error(diff)
	}
	labels := func(values ...int64) {
		must.Do(durable.WriteFile(filepath.Join(dir, "bare.labels.npy"), 0o666, func(w io.Writer) error {
			return format.WriteNPY(w, []int{len(values)}, values)
		}))
	}
	labels(7, 0)
	if m, err := Load(path); err != nil || !cmp.Equal(m.Labels, []int{7, 0}) {
		t.Errorf("labels %v, error %v", m.Labels, err)
	}
	labels(7, 0, 1)
	_, err := Load(path)
	wantError(t, err, "shape is [3]: want [2]")
	labels(7, -1)
	_, err = Load(path)
	wantError(t, err, "label -1 of image 1")
	array("flat.npy", []int{4}, []float32{1, 2, 3, 4})
	_, err = Load(filepath.Join(dir, "flat.npy"))
	wantError(t, err, "shape is [4]")
	array("zero.npy", []int{2, 0, 2}, nil)
	_, err = Load(filepath.Join(dir, "zero.npy"))
	wantError(t, err, "2×1×0×2")
}
