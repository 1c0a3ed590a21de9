package data

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coupling/lab/must"
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
	switch filepath.Ext(path) {
	case ".jpg":
		b.Reset()
		err = jpeg.Encode(&b, p, &jpeg.Options{Quality: 100})
	case ".gif":
		b.Reset()
		err = gif.Encode(&b, p, nil)
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

// A 8×8 JPEG file of four channels, cyan, and 1×1 WebP files: light grey, and transparent.
const (
	cyan = "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwAICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI" +
		"CAgICAgICAgICAgI/8AAFAgACAAIBAERAAIRAAMRAAQRAP/EABUAAAIAAAAAAAAAAAAAAAAAAAAH/8QAFBABAAAAAAAAAAAAAAAA" +
		"AAAAAP/aAA4EAQACAAMABAAAPwBAH+f5/v/Z"
	grey = "UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAwA0JaQAA3AA/vuUAAA="
	none = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="
)

// Folders as people have them. A case lists files: content after "=", of base64 after "b=", else a red picture of
// 3×3, or of the size after a space; and what Load returns of them: classes, labels and red of the first pixels;
// notes; or its error.
func TestFolder(t *testing.T) {
	for name, c := range map[string]struct {
		files  []string
		folder Folder
		want   string // images, their notes, or the error's parts between " … "
	}{
		"no classes": {[]string{"b.png 1×1", "a.jpg 1×1", ".hidden.png=", "notes.txt=x"}, Folder{},
			"[] [] [1 1]; left out: 1 .txt files, notes.txt first"},
		"formats": {[]string{"a/1.GIF.gif", "a/2.PNG", "a/3.webp b=" + grey, "b/4.jpg b=" + cyan}, Folder{Size: 2},
			"[a b] [0 0 0 1] [0.98 1 0.92 0]"},
		"transparent": {[]string{"a/1.webp b=" + none, "a/2.png"}, Folder{Size: 1},
			"[a] [0 0] [0 1]; 1 pictures are transparent in places, which become black, DIR/a/1.webp first"},
		"kinds": {[]string{"a/1.png", "a/2.heic=", "a/3.heic=", "README="}, Folder{},
			"[a] [0] [1]; left out: 2 .heic files, a/2.heic first; left out: 1 nameless files, README first"},
		"classes": {[]string{"dogs/1.png", "cats/1.png", "cats/2.png", "empty/.keep="}, Folder{},
			"[cats dogs] [0 0 1] [1 1 1]"},
		"empty class": {[]string{"dogs/1.png", "empty/.keep="}, Folder{Empty: true}, "[dogs empty] [0] [1]"},
		"deep": {[]string{"dogs/1.png", "dogs/old/2.png"}, Folder{},
			"[dogs] [0] [1]; left out: 1 pictures in folders of classes' folders, dogs/old/2.png first"},
		"split": {[]string{"train/cat/1.png", "test/cat/1.png", "test/cat/2.png"}, Folder{Split: "test"},
			"[cat] [0 0] [1 1]"},
		"labels": {[]string{"images/1.png", "images/2.png", "b/3.png", "4.png",
			"labels.csv=file,class\n2.png,dog\nimages/1.png,cat\n3.png, cat\n,ox\n"}, Folder{},
			"[cat dog ox] [0 0 1] [1 1 1]; left out: 1 pictures that labels.csv does not name"},

		"no split": {[]string{"train/cat/1.png", "test/cat/1.png"}, Folder{}, "two levels down … Split = test"},
		"one class beside splits": {[]string{"flat/1.png", "train/a/1.png", "test/a/1.png"}, Folder{Empty: true},
			"two levels down in 2 folders (test, train), as test/a/1.png: Split = test takes those of it"},
		"nowhere":    {nil, Folder{Dir: "no"}, "data set not found … no such file"},
		"a file":     {[]string{"a.png"}, Folder{Dir: "a.png"}, "it is a file"},
		"nothing":    {[]string{"a.txt="}, Folder{}, "data set not found … no PNG, JPEG, GIF"},
		"two levels": {[]string{"a.png", "cats/a.png"}, Folder{}, "both in it and in folders of it"},
		"negative":   {[]string{"a.png"}, Folder{Size: -1}, "Size = -1"},
		"all bad ones": {[]string{"a/0.png=no", "a/1.png", "a/2.jpg=\xff\xd8", "b/3.gif=GIF89a", "b/4.webp=RIFF"},
			Folder{},
			"0.png: … 2.jpg: … 3.gif: … 4.webp: "},
		"sizes": {[]string{"a.png", "b.png 30×50", "c.png 30×50", "d.png 9×9"}, Folder{},
			"2 in all have 30×50 pixels … b.png: it has 30×50 … d.png: … want one size, or Size = 3"},
		"cut short": {[]string{"a/1.png", "a/2.jpg b=" + cyan[:160]}, Folder{}, "2.jpg: "},
		"huge":      {[]string{"a/1.gif=GIF89a\xff\xff\xff\xff\x00\x00\x00"}, Folder{}, "65535×65535 pixels"},
		"unknown labels": {[]string{"a.png", "labels.csv=b.png,cat\nc.png,cat\n../a.png,cat"}, Folder{},
			"no such picture, or several of that name: b.png, c.png, ../a.png"},
		"label twice": {[]string{"x/a.png", "labels.csv=a.png,cat\nx/a.png,dog"}, Folder{}, "in two lines: x/a.png"},
		"same names": {[]string{"x/a.png", "y/a.png", "labels.csv=a.png,cat"}, Folder{},
			"several of that name: a.png"},
		"no table": {[]string{"a.png", "labels.csv=a.png;cat"}, Folder{}, "want lines \"file,class\""},
		"no class": {[]string{"a.png", "labels.csv=a.png,"}, Folder{}, "has no class"},
	} {
		dir := t.TempDir()
		for _, file := range c.files {
			place(t, dir, file)
		}
		f, got := c.folder, ""
		f.Dir = filepath.Join(dir, f.Dir)
		f.Note = func(line string) { got += "; " + line }
		if m, err := f.Load(t.Context()); err != nil {
			got = err.Error()
		} else {
			var red []float64
			for i := range m.Len() {
				red = append(red, math.Round(100*float64(m.Row(i)[0]))/100)
			}
			got = fmt.Sprint(m.Classes, " ", m.Labels, " ", red) + got
		}
		got = strings.ReplaceAll(got, dir, "DIR")
		for _, part := range strings.Split(c.want, " … ") {
			if !strings.Contains(got, part) || strings.HasPrefix(c.want, "[") && got != c.want {
				t.Errorf("%s: %s: want %s", name, got, c.want)
				break
			}
		}
	}
}

// place makes a file of a case.
func place(t *testing.T, dir, file string) {
	t.Helper()
	if name, coded, is := strings.Cut(file, " b="); is {
		content := must.Get(base64.StdEncoding.DecodeString(coded))
		file = name + "=" + string(content)
	}
	name, content, is := strings.Cut(file, "=")
	if is {
		put(filepath.Join(dir, name), []byte(content))
		return
	}
	w, h := 3, 3
	name, size, _ := strings.Cut(name, " ")
	_, _ = fmt.Sscanf(size, "%d×%d", &w, &h)
	paint(t, filepath.Join(dir, name), w, h, 255)
}

// A picture of 3×2 values is turned as the EXIF standard has it, by its JPEG or TIFF tag, in either byte order;
// broken tags turn nothing.
func TestOrientation(t *testing.T) {
	m := &Images{pixels: []float32{1, 2, 3, 4, 5, 6}, n: 1, c: 1, h: 2, w: 3}
	for i, want := range []string{"123456", "321654", "654321", "456123", "142536", "415263", "635241", "362514"} {
		turn, tag := i+1, string(rune(i+1))
		if got := m.turned(turn).pixels; strings.Trim(strings.ReplaceAll(fmt.Sprint(got), " ", ""), "[]") != want {
			t.Errorf("%d: %v, want %s", turn, got, want)
		}
		little := []byte("II*\x00\b\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00" + tag + "\x00\x00\x00")
		big := []byte("MM\x00*\x00\x00\x00\b\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" + tag + "\x00\x00")
		jpeg := append([]byte("\xff\xd8\xff\xe0\x00\x04AB\xff\xe1\x00\x1eExif\x00\x00"), big...)
		if a, b, c := orientation(little), orientation(big), orientation(jpeg); a != turn || b != turn || c != turn {
			t.Errorf("%d: read as %d, %d, %d", turn, a, b, c)
		}
		if dir := t.TempDir(); turn == 6 { // as from a phone: a file of 2×1 pixels is a picture of 1×2
			paint(t, filepath.Join(dir, "a.jpg"), 2, 1, 255)
			plain, err1 := os.ReadFile(filepath.Join(dir, "a.jpg"))
			put(filepath.Join(dir, "a.jpg"), append(jpeg[:len(jpeg):len(jpeg)], plain[2:]...))
			m, err2 := Folder{Dir: dir}.Load(t.Context())
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			if _, _, h, w := m.Shape(); h != 2 || w != 1 {
				t.Errorf("read as %d×%d", w, h)
			}
		}
		for n := range jpeg { // no prefix is out of range
			_ = orientation(jpeg[:n])
		}
	}
}

// The central square of a picture is taken and resized; grey values are those of its colours.
func TestFolderResizes(t *testing.T) {
	dir := t.TempDir()
	paint(t, filepath.Join(dir, "b.png"), 4, 2, 255)
	square := must.Get(Folder{Dir: dir, Size: 2, Grey: true}.Load(t.Context()))
	// The central columns are green 85/255 and 170/255, 0.587 of which and 0.299 of red are their grey value, up to
	// rounding.
	for x, want := range []float64{.299 + .587*85/255, .299 + .587*170/255} {
		if got := square.Row(0)[x]; square.Dim() != 4 || math.Abs(float64(got)-want) > .003 {
			t.Errorf("grey value %d = %v, want %.3f", x, got, want)
		}
	}
	// Pictures that need no resizing are bytes; one that does changes no value of the others.
	dir = t.TempDir()
	for i, side := range []int{3, 3, 5} {
		paint(t, filepath.Join(dir, fmt.Sprint(i, ".png")), side, side, uint8(200+i))
		m := must.Get(Folder{Dir: dir, Size: 3}.Load(t.Context()))
		if m.bytes != nil != (i < 2) || m.Row(0)[13] != float32(127)/255 || m.Row(i)[0] != float32(200+i)/255 {
			t.Errorf("%d pictures: %v", i+1, m.Pixels())
		}
	}
	stopped, cancel := context.WithCancel(t.Context())
	if cancel(); !errors.Is(func() error { _, err := Folder{Dir: dir}.Load(stopped); return err }(), context.Canceled) {
		t.Error("loaded after it was cancelled")
	}
}
