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

	"coupling/dp/synth"

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
	if err := errors.Join(writePictures(dir), os.Mkdir(filepath.Join(dir, "nobody"), 0o777)); err != nil {
		t.Fatal(err)
	}
	var warned bytes.Buffer
	a := &app{err: &warned}
	grey, err := pictures{Images: dir}.load(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if n, c, h, w := grey.Shape(); n != 80 || c != 1 || h != 8 || w != 8 || len(grey.Classes) != 3 || warned.Len() > 0 {
		t.Fatalf("%d×%d×%d×%d, classes %v, %q", n, c, h, w, grey.Classes, &warned)
	}
	red := image.NewRGBA(image.Rect(0, 0, 12, 12))
	for i := range 144 {
		red.Set(i%12, i/12, color.RGBA{R: 255, A: 255})
	}
	f, err := os.Create(filepath.Join(dir, "top", "zz.png"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(png.Encode(f, red), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := (pictures{Images: dir}).load(t.Context(), a); err == nil {
		t.Error("12×12 beside 8×8 was taken")
	}
	m, err := pictures{Images: dir, Size: 4}.load(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	last := m.Row(80)
	if _, c, h, w := m.Shape(); c != 3 || h != 4 || w != 4 || m.Labels[80] != 2 || last[0] < .999 || last[16] != 0 ||
		!strings.Contains(warned.String(), "80 of 81 images are grey") {
		t.Errorf("%d×%d×%d, label %d, red %g, green %g, warned %q", c, h, w, m.Labels[80], last[0], last[16], &warned)
	}
	if m, err = (pictures{Images: dir, Size: 4, Grey: true}).load(t.Context(), a); err != nil || m.Dim() != 16 {
		t.Errorf("grey: %v", err)
	}
}

// What is expected grows with ε and with images a class, is of the method that runs, and names a better one; pictures
// in colour are compared with such, and of a few pictures nothing is promised.
func TestExpectation(t *testing.T) {
	of := func(c privateCmd, eps float64, n, channels int) string {
		c.Eps = eps
		return c.expectation(synth.Public{
			Records:  n,
			Classes:  []string{"a", "b"},
			Channels: channels,
			Height:   32,
			Width:    32,
		})
	}
	best, fast := privateCmd{Method: auto}, privateCmd{Method: auto, Fast: true}
	for _, c := range []struct{ got, want string }{
		{of(best, 1, 12_000, 1), "refined makes of 6000 images a class at ε = 1"},
		{of(best, 1, 12_000, 1), "read about 96 % of MNIST"},
		{of(best, 10, 1200, 1), "about 96 % of MNIST and 81 %"}, {of(best, .3, 12_000, 1), "refined makes of 6000"},
		{of(best, .2, 12_000, 1), "less than 90 % of MNIST"}, {of(best, 5, 3, 1), "expect noise"},
		{of(fast, 1, 12_000, 1), "95 % of MNIST and 81 % of Fashion-MNIST; with --method refined, in minutes, 96 %"},
		{of(best, .3, 2000, 3), "not measured; of what --method semi-dual makes classifiers read about 20 %"},
		{of(fast, 1, 2000, 3), "about 27 % of CIFAR-10"}, {of(best, 1, 2000, 3), "about 35 % of CIFAR-10"},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s: want %s", c.got, c.want)
		}
	}
}
