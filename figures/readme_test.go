package figures

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coupling/lab"
	"coupling/lab/gallery"
	"coupling/lab/must"
)

// The README shows a page by its thumbnail, whose text is the page's title, and deletes the thumbnails of others.
func TestReadme(t *testing.T) {
	out, dir := t.TempDir(), t.TempDir()
	var picture bytes.Buffer
	lab.Check(png.Encode(&picture, image.NewGray(image.Rect(0, 0, 960, 600))))
	lab.Check(os.MkdirAll(filepath.Join(dir, "thumbs"), 0o777))
	lab.Check(os.MkdirAll(filepath.Join(dir, "tour"), 0o777))
	source := filepath.Join(dir, "tour", "square.go")
	for path, b := range map[string][]byte{
		filepath.Join(out, "square.png"):         picture.Bytes(),
		filepath.Join(dir, "thumbs", "old.png"):  nil,
		filepath.Join(dir, "thumbs", "mine.png"): nil,
		filepath.Join(dir, "README.md"):          []byte(generated + `<img src="thumbs/old.png">`),
		source:                                   []byte("package tour\n\nvar x = []int{1, 2}\n"),
		source + "2":                             []byte("package tour // of\n\nvar x = []int{\n\t1,\n\t2,\n}\n"),
	} {
		lab.Check(os.WriteFile(path, b, 0o666))
	}
	digest := lab.Must(sourceDigest(source))
	if layout := lab.Must(sourceDigest(source + "2")); layout != digest || len(digest) != 12 {
		t.Errorf("digests %s and, in another layout, %s", digest, layout)
	}
	drawn := gallery.Page{
		Name:     "tour/square",
		Title:    "The square x_{1}",
		Shows:    "It is A. Then B.",
		Preset:   "smoke",
		Size:     "n = 3",
		Command:  "coupling fig tour/square",
		Pictures: []gallery.Picture{{Files: []string{"square.png"}}},
		Source:   "tour/square.go",
		Claims:   []gallery.Claim{{What: "a|b", Source: "sums", Verdict: lab.Holds, Expected: "9", Got: "9"}},
	}
	failed := gallery.Page{Name: "tour/circle", Title: "The circle", Shows: "None.", Error: "no cells"}
	tour := func(pages ...gallery.Page) []gallery.Chapter {
		return []gallery.Chapter{{Name: "tour", Title: "A Tour", Pages: pages}}
	}
	must.Do(writeReadme(dir, out, tour(drawn, failed)))
	// One alone is written again: the other's entry stays.
	drawn.Size = "n = 4"
	must.Do(writeReadme(dir, out, tour(drawn, gallery.Page{Name: failed.Name})))
	b := lab.Must(os.ReadFile(filepath.Join(dir, "README.md")))
	for _, want := range []string{
		"\n## A Tour\n\n### `tour/square`\n\n**The square x1.** It is A.\n\n<img src=\"thumbs/tour-square.png\" " +
			"width=\"480\" alt=\"The square x1\">\n\nsmoke: n = 4. `coupling fig tour/square` <!-- source " +
			digest + " -->\n",
		`a\|b (sums) | 9 | 9 |`, "\n**The circle.** None.\n\nNot drawn: no cells\n",
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("README.md lacks %q:\n%s", want, b)
		}
	}
	f := must.Get(os.Open(filepath.Join(dir, "thumbs", "tour-square.png")))
	defer f.Close()
	if c, err := png.DecodeConfig(f); err != nil || c.Width != 480 || c.Height != 300 {
		t.Errorf("thumbnail of %d×%d, %v", c.Width, c.Height, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "thumbs", "old.png")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the thumbnail of another figure: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "thumbs", "mine.png")); err != nil {
		t.Errorf("a picture of the user's: %v", err)
	}
}
