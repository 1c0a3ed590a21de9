package data

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// paint writes a picture whose red is r, whose green rises from left to right and whose blue is 0.
func paint(t *testing.T, path string, w, h int, r uint8) {
	t.Helper()
	p := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			p.SetNRGBA(x, y, color.NRGBA{r, uint8(255 * x / max(w-1, 1)), 0, 255})
		}
	}
	var b bytes.Buffer
	err := png.Encode(&b, p)
	if filepath.Ext(path) == ".jpg" {
		b.Reset()
		err = jpeg.Encode(&b, p, &jpeg.Options{Quality: 100})
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o777)
	}
	if err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	paint(t, filepath.Join(dir, "b.png"), 4, 2, 255)
	paint(t, filepath.Join(dir, "c.jpg"), 4, 2, 0)
	for _, other := range []string{"notes.txt", ".hidden.png"} {
		if err := os.WriteFile(filepath.Join(dir, other), []byte("no picture"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	m, err := Folder{Dir: dir}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n, c, h, w := m.Shape(); n != 2 || c != 3 || h != 2 || w != 4 || m.Labels != nil || m.Lo != 0 || m.Hi != 1 {
		t.Errorf("%d×%d×%d×%d in [%v, %v], labels %v", n, c, h, w, m.Lo, m.Hi, m.Labels)
	}
	if red := m.Row(0)[0]; red != 1 {
		t.Errorf("red of b.png = %v", red)
	}
	if red := m.Row(1)[0]; red > .05 { // JPEG
		t.Errorf("red of c.jpg = %v", red)
	}
	square, err := Folder{Dir: dir, Size: 2, Grey: true}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n, c, h, w := square.Shape(); n != 2 || c != 1 || h != 2 || w != 2 {
		t.Errorf("%d×%d×%d×%d", n, c, h, w)
	}
	// The central columns are green 85/255 and 170/255, 0.587 of which and 0.299 of red are their grey value, up to rounding.
	for x, want := range []float64{.299 + .587*85/255, .299 + .587*170/255} {
		if got := square.Row(0)[x]; math.Abs(float64(got)-want) > .003 {
			t.Errorf("grey value %d = %v, want %.3f", x, got, want)
		}
	}
}

func TestFolderOfClasses(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"dogs/1.png", "cats/1.png", "cats/2.png", "empty/none.txt"} {
		paint(t, filepath.Join(dir, name), 3, 3, 9)
	}
	m, err := Folder{Dir: dir, Size: 3}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.Classes, []string{"cats", "dogs"}) || !slices.Equal(m.Labels, []int{0, 0, 1}) {
		t.Errorf("classes %v, labels %v", m.Classes, m.Labels)
	}
}

func TestFolderRefuses(t *testing.T) {
	sizes, damaged, both := t.TempDir(), t.TempDir(), t.TempDir()
	paint(t, filepath.Join(sizes, "a.png"), 3, 3, 9)
	paint(t, filepath.Join(sizes, "b.png"), 3, 4, 9)
	paint(t, filepath.Join(damaged, "a.png"), 30, 30, 9)
	whole, err := os.ReadFile(filepath.Join(damaged, "a.png"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(damaged, "a.png"), whole[:len(whole)/2], 0o666); err != nil {
		t.Fatal(err)
	}
	paint(t, filepath.Join(both, "a.png"), 3, 3, 9)
	paint(t, filepath.Join(both, "cats", "a.png"), 3, 3, 9)
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	load := func(ctx context.Context, f Folder) error { _, err := f.Load(ctx); return err }
	for name, c := range map[string]struct{ got, want error }{
		"nowhere":   {load(t.Context(), Folder{Dir: filepath.Join(sizes, "no")}), ErrMissing},
		"empty":     {load(t.Context(), Folder{Dir: t.TempDir()}), ErrMissing},
		"sizes":     {load(t.Context(), Folder{Dir: sizes}), ErrCorrupt},
		"damaged":   {load(t.Context(), Folder{Dir: damaged}), ErrCorrupt},
		"cancelled": {load(stopped, Folder{Dir: sizes, Size: 3}), context.Canceled},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: error %v", name, c.got)
		}
	}
	if load(t.Context(), Folder{Dir: both}) == nil || load(t.Context(), Folder{Dir: sizes, Size: -1}) == nil {
		t.Error("pictures at two levels, or a negative size, were taken")
	}
}
