package sample

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"coupling/data"
	"coupling/lab/must"
)

// The images are those of the official files, bit by bit, where these are here.
func TestOfficialFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("all images of four sets")
	}
	for _, s := range sets() {
		for split, n := range []int{data.Train: s.Train, data.Test: s.Test} {
			t.Run(s.Name+"/"+data.Split(split).String(), func(t *testing.T) {
				all, err := data.LoadNamed(t.Context(), data.From{Offline: true, Origin: data.Subset}, s.Name,
					data.Split(split))
				if errors.Is(err, data.ErrMissing) {
					t.Skip(err)
				} else if err != nil {
					t.Fatal(err)
				}
				chosen := must.Get(indices(all.Labels, n))
				want := all.Take(chosen)
				got := must.Get(data.LoadNamed(t.Context(), From(data.Sample), s.Name, data.Split(split)))
				if !slices.Equal(got.Labels, want.Labels) || !slices.Equal(got.Pixels(), want.Pixels()) ||
					got.Lo != want.Lo || got.Hi != want.Hi {
					t.Error("the sample is not what the rule takes from the official file")
				}
				if !slices.Equal(got.Classes, want.Classes) ||
					got.Name != s.Name+"-sample/"+data.Split(split).String() {
					t.Errorf("name %q, classes %q", got.Name, got.Classes)
				}
			})
		}
	}
}

// Every class has as many images, on any machine.
func TestBalanced(t *testing.T) {
	for _, s := range sets() {
		m := must.Get(data.LoadNamed(t.Context(), From(data.Sample), s.Name, data.Train))
		for k, members := range m.ByClass() {
			if len(members) != s.Train/10 {
				t.Errorf("%s: %d images of class %d: want %d", s.Name, len(members), k, s.Train/10)
			}
		}
		if got := Note(data.Sample, s.Name); !strings.HasPrefix(got, "sample of ") ||
			Note(data.Official, s.Name) != "" {
			t.Errorf("note %q", got)
		}
	}
	if _, err := data.MNIST(t.Context(), From(data.Sample), data.Valid); err == nil {
		t.Error("a validation split")
	}
}

// A file with one bit flipped is refused by name.
func TestFlippedBit(t *testing.T) {
	damaged := fstest.MapFS{}
	must.Do(fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := files.ReadFile(path)
		damaged[path] = &fstest.MapFile{Data: b}
		return err
	}))
	for path := range damaged {
		set, file, ok := strings.Cut(path, "/")
		if !ok {
			continue
		}
		split := data.Test
		if strings.HasPrefix(file, "train") {
			split = data.Train
		}
		b := damaged[path].Data
		b[len(b)/2] ^= 1
		if _, err := read(damaged, set, split); !errors.Is(err, data.ErrCorrupt) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s with a flipped bit: error %v", path, err)
		}
		b[len(b)/2] ^= 1
	}
}

func TestIndices(t *testing.T) {
	labels := []int{3, 3, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9}
	got, err := indices(labels, 10)
	if want := []int{0, 2, 3, 4, 6, 7, 8, 9, 10, 11}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v: want %v", got, err, want)
	}
	if _, err := indices(labels, 20); err == nil {
		t.Error("classes of one image gave two")
	}
}
