package main

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coupling/lab/must"

	"github.com/rogpeppe/go-internal/testscript"
)

// A person's folder of images, through the command.
func TestPrivate(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/private",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			return writePictures(filepath.Join(e.WorkDir, "pictures"))
		},
	})
}

// writePictures writes 8×8 pictures of two classes, bright at the bottom or at the top.
func writePictures(dir string) error {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 80 {
		class := []string{"top", "bottom"}[i%2]
		p := image.NewGray(image.Rect(0, 0, 8, 8))
		for k := range 32 {
			p.SetGray(k%8, k/8+4*(i%2), color.Gray{Y: uint8(150 + rng.IntN(100))})
		}
		if err := os.MkdirAll(filepath.Join(dir, class), 0o777); err != nil {
			return err
		}
		f, err := os.Create(filepath.Join(dir, class, fmt.Sprintf("%d.png", i)))
		if err != nil {
			return err
		}
		if err := png.Encode(f, p); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// A folder with one colour picture is read as colour, in [0, 1], with a warning that others see it;
// sizes that differ are refused unless they are made equal, and a class without pictures is a
// class.
func TestPrivateLoad(t *testing.T) {
	dir := t.TempDir()
	must.Do(errors.Join(writePictures(dir), os.Mkdir(filepath.Join(dir, "nobody"), 0o777)))
	var warned bytes.Buffer
	a := &app{err: &warned}
	grey := must.Get(pictures{Images: dir}.load(t.Context(), a))
	if n, c, h, w := grey.Shape(); n != 80 || c != 1 || h != 8 || w != 8 || len(grey.Classes) != 3 || warned.Len() > 0 {
		t.Fatalf("%d×%d×%d×%d, classes %v, %q", n, c, h, w, grey.Classes, &warned)
	}
	red := image.NewRGBA(image.Rect(0, 0, 12, 12))
	for i := range 144 {
		red.Set(i%12, i/12, color.RGBA{R: 255, A: 255})
	}
	f := must.Get(os.Create(filepath.Join(dir, "top", "zz.png")))
	must.Do(errors.Join(png.Encode(f, red), f.Close()))
	if _, err := (pictures{Images: dir}).load(t.Context(), a); err == nil {
		t.Error("12×12 beside 8×8 was taken")
	}
	m := must.Get(pictures{Images: dir, Size: 4}.load(t.Context(), a))
	last := m.Row(80)
	if _, c, h, w := m.Shape(); c != 3 || h != 4 || w != 4 || m.Labels[80] != 2 || last[0] < .999 || last[16] != 0 ||
		!strings.Contains(warned.String(), "80 of 81 images are grey") {
		t.Errorf("%d×%d×%d, label %d, red %g, green %g, warned %q", c, h, w, m.Labels[80], last[0], last[16], &warned)
	}
	if m, err := (pictures{Images: dir, Size: 4, Grey: true}).load(t.Context(), a); err != nil || m.Dim() != 16 {
		t.Errorf("grey: %v", err)
	}
}
