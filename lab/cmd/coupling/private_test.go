package main

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
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
