package main

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

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

// What can be killed and go on finds the key that it began with, which only its owner can read; what is no key is not taken
// for one, nor written over. The other methods keep none.
func TestPrivateKey(t *testing.T) {
	for _, method := range []string{"dp-sinkhorn", "dp-sgd"} {
		t.Run(method, func(t *testing.T) { keptKey(t, privateCmd{Method: method, Out: t.TempDir()}) })
	}
	for _, method := range []string{"semi-dual", "dp-merf"} {
		c := privateCmd{Method: method, Out: t.TempDir()}
		first, err := c.key()
		if err != nil {
			t.Fatal(err)
		}
		second, err := c.key()
		if _, none := os.Stat(filepath.Join(c.Out, "run")); err != nil || first == second || !errors.Is(none, fs.ErrNotExist) {
			t.Errorf("%s: equal keys %v, %v, %v", method, first == second, err, none)
		}
	}
}

func keptKey(t *testing.T, c privateCmd) {
	one, err := c.key()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.Out, "run", "key")
	for of, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(of); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want mode %v", of, info.Mode(), err, want)
		}
	}
	if again, err := c.key(); err != nil || again != one {
		t.Errorf("another key the second time: %v", err)
	}
	if err := os.WriteFile(path, one[:9], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.key(); err == nil || !strings.Contains(err.Error(), "9 bytes") {
		t.Errorf("half a key: %v", err)
	}
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

// A folder with one colour picture is read as colour, in [0, 1]; sizes that differ are refused unless they are made equal.
func TestImageFolder(t *testing.T) {
	dir := t.TempDir()
	if err := writePictures(dir); err != nil {
		t.Fatal(err)
	}
	grey, err := imageFolder(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n, c, h, w := grey.Shape(); n != 80 || c != 1 || h != 8 || w != 8 || len(grey.Classes) != 2 {
		t.Fatalf("%d×%d×%d×%d, classes %v", n, c, h, w, grey.Classes)
	}
	red := image.NewRGBA(image.Rect(0, 0, 12, 12))
	for i := range 144 {
		red.Set(i%12, i/12, color.RGBA{R: 255, A: 255})
	}
	f, err := os.Create(filepath.Join(dir, "top", "zz.png"))
	if err != nil {
		t.Fatal(err)
	}
	if err := png.Encode(f, red); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := imageFolder(dir, 0); err == nil {
		t.Error("12×12 beside 8×8 was taken")
	}
	m, err := imageFolder(dir, 4)
	if err != nil {
		t.Fatal(err)
	}
	last := m.Row(80)
	if _, c, h, w := m.Shape(); c != 3 || h != 4 || w != 4 || m.Labels[80] != 1 || last[0] < .999 || last[16] != 0 {
		t.Errorf("%d×%d×%d, label %d, red %g, green %g", c, h, w, m.Labels[80], last[0], last[16])
	}
}
