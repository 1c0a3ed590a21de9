package style_test

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"coupling/lab/must"

	"gonum.org/v1/plot/cmpimg"
)

var regenerate = flag.Bool("regenerate", false, "write the golden pictures anew instead of comparing with them")

// goldenDPI is half of the usual resolution, so that image grids still fall on whole dots.
const goldenDPI = 100

// TestGolden compares the gallery with testdata. After a deliberate change run
//
//	go test ./figures/style -run TestGolden -regenerate
//
// and look at every picture that changed.
func TestGolden(t *testing.T) {
	// Other processors may round the last bit of a coordinate differently, which moves the grey of a pixel on an edge
	// by a level or two of 255; a changed glyph moves it by far more.
	const delta = 0.02
	figures := gallery()
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		t.Run(name, func(t *testing.T) {
			f := figures[name]
			f.DPI = goldenDPI
			var got bytes.Buffer
			must.Do(f.Save(&got, "png"))
			path := filepath.Join("testdata", name+".png")
			if *regenerate {
				must.Do(os.WriteFile(path, got.Bytes(), 0o644))
				return
			}
			want := must.Get(os.ReadFile(path))
			same := must.Get(cmpimg.EqualApprox("png", got.Bytes(), want, delta))
			if !same {
				out := filepath.Join(os.TempDir(), "style-"+name+".png")
				must.Do(os.WriteFile(out, got.Bytes(), 0o644))
				t.Errorf("the picture differs from %s; the new one is %s", path, out)
			}
		})
	}
}
