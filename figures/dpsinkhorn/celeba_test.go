package dpsinkhorn

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"

	"coupling/data"
	"coupling/lab/must"
)

// faces lays out CelebA's official folder with two images a split: black with a white frame of 12 pixels.
func faces(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "celeba")
	must.Do(os.MkdirAll(filepath.Join(dir, "img_align_celeba"), 0o700))
	attributes, partition := "6\nMale Young\n", ""
	for i := range 6 {
		m := image.NewRGBA(image.Rect(0, 0, 178, 218))
		for y := range 218 {
			for x := range 178 {
				if m.Set(x, y, color.Black); min(x, y, 177-x, 217-y) < 12 {
					m.Set(x, y, color.White)
				}
			}
		}
		var b bytes.Buffer
		must.Do(jpeg.Encode(&b, m, nil))
		name := fmt.Sprintf("%06d.jpg", i+1)
		must.Do(os.WriteFile(filepath.Join(dir, "img_align_celeba", name), b.Bytes(), 0o600))
		attributes += fmt.Sprintf("%s %d 1\n", name, 2*(i%2)-1)
		partition += fmt.Sprintf("%s %d\n", name, []int{0, 0, 1, 1, 2, 2}[i])
	}
	for name, text := range map[string]string{"list_attr_celeba.txt": attributes,
		"list_eval_partition.txt": partition} {
		must.Do(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return filepath.Dir(dir)
}

// DP-Sinkhorn's faces are whole images, frame and all, resized to a square; SCONES' are the central
// 140 pixels, without it.
func TestCelebAWhole(t *testing.T) {
	t.Setenv("COUPLING_DATA", faces(t))
	train, test := Params{Colour: "celeba"}.images(t.Context())
	if train.Len() != 2 || test.Len() != 2 || train.Classes[1] != "Male" || train.Labels[1] != 1 {
		t.Fatalf("%v and %v", train, test)
	}
	cropped := must.Get(data.CelebA{Size: colourSide}.Open())
	centre := must.Get(cropped.Load(t.Context()))
	for name, corner := range map[string]struct{ got, lo, hi float32 }{
		"whole": {train.Row(0)[0], .9, 1}, "whole, the last": {train.Row(0)[colourSide*colourSide-1], .9, 1},
		"cropped": {centre.Row(0)[0], 0, .2},
	} {
		if corner.got < corner.lo || corner.got > corner.hi {
			t.Errorf("%s: red of the corner is %g, want it in [%g, %g]", name, corner.got, corner.lo, corner.hi)
		}
	}
}
