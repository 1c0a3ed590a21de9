package data

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coupling/lab/must"
)

// tinyCelebA lays out eight faces in CelebA's way: five training, one
// validation and two test images of 178×218 pixels. Face i is all of the grey
// value 25·i, with a brighter left half. It returns the folder.
func tinyCelebA(t testing.TB) string {
	dir := t.TempDir()
	male := []int{1, -1, 1, 1, -1, 1, -1, 1}
	young := []int{1, 1, -1, 1, -1, -1, 1, 1}
	parts := []int{0, 0, 0, 0, 0, 1, 2, 2}
	attributes, partition := "8\nMale Young \n", ""
	for i := range 8 {
		name := fmt.Sprintf("%06d.jpg", i+1)
		attributes += fmt.Sprintf("%s %2d %2d\n", name, male[i], young[i])
		partition += fmt.Sprintf("%s %d\n", name, parts[i])
		put(filepath.Join(dir, "celeba", celebaFolder, name), faceJPEG(i, 178, 218))
	}
	put(filepath.Join(dir, "celeba", celebaAttrFile), []byte(attributes))
	put(filepath.Join(dir, "celeba", celebaPartFile), []byte(partition))
	return dir
}

func faceJPEG(i, w, h int) []byte {
	picture := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			grey := uint8(25 * i)
			if x < w/2 {
				grey += 20
			}
			picture.Set(x, y, color.RGBA{grey, grey, grey, 255})
		}
	}
	var out bytes.Buffer
	must.Do(jpeg.Encode(&out, picture, &jpeg.Options{Quality: 95}))
	return out.Bytes()
}

// numbers are those in the names of the files that a selection holds.
func numbers(c CelebA) []int {
	faces := must.Get(c.Open())
	var out []int
	for _, path := range faces.Files {
		var n int
		must.Get(fmt.Sscanf(filepath.Base(path), "%d.jpg", &n))
		out = append(out, n)
	}
	return out
}

func TestCelebASelection(t *testing.T) {
	from := From{Dir: tinyCelebA(t)}
	for _, test := range []struct {
		c    CelebA
		want []int
	}{
		{CelebA{}, []int{1, 2, 3, 4, 5}},
		{CelebA{Split: Valid}, []int{6}},
		{CelebA{Split: Test}, []int{7, 8}},
		{CelebA{With: []string{"Male"}}, []int{1, 3, 4}},
		{CelebA{With: []string{"Male", "Young"}}, []int{1, 4}},
		{CelebA{With: []string{"Young"}, Without: []string{"Male"}}, []int{2}},
		{CelebA{Without: []string{"Young"}}, []int{3, 5}},
		{CelebA{Split: Valid, Without: []string{"Male"}}, nil},
	} {
		test.c.From = from
		if diff := cmp.Diff(test.want, numbers(test.c)); diff != "" {
			t.Errorf("%+v: %s", test.c, diff)
		}
	}
}

func TestCelebALoad(t *testing.T) {
	dir := tinyCelebA(t)
	faces := must.Get(CelebA{From: From{Dir: dir}, Label: "Male"}.Open())
	m := must.Get(faces.Load(t.Context()))
	if n, c, h, w := m.Shape(); n != 5 || c != 3 || h != 64 || w != 64 || m.Name != "celeba-subset/train" {
		t.Errorf("%s: shape %d×%d×%d×%d", m.Name, n, c, h, w)
	}
	if !slices.Equal(m.Labels, []int{1, 0, 1, 1, 0}) || !slices.Equal(m.Classes, []string{"not Male", "Male"}) {
		t.Errorf("labels %v of %q", m.Labels, m.Classes)
	}
	for i := range m.Len() {
		// Far from the edge in the middle a face is flat; JPEG at quality 95 is
		// within two levels there.
		for c := range 3 {
			left, right := m.Row(i)[c*64*64+10*64+5]*255, m.Row(i)[c*64*64+50*64+58]*255
			if math.Abs(float64(left)-float64(25*i+20)) > 2 || math.Abs(float64(right)-float64(25*i)) > 2 {
				t.Errorf("face %d, channel %d: %v left and %v right: want %d and %d", i, c, left, right, 25*i+20, 25*i)
			}
		}
	}
	picked, err := faces.Take(t.Context(), []int{4, 0, 4})
	if err != nil || !slices.Equal(picked.Row(0), m.Row(4)) || !slices.Equal(picked.Row(1), m.Row(0)) ||
		!slices.Equal(picked.Labels, []int{0, 1, 0}) {
		t.Errorf("faces 4, 0, 4: labels %v, error %v", picked.Labels, err)
	}
}

// Preparation is crop and resize: the transformations one by one.
func TestCelebAPreparation(t *testing.T) {
	dir := tinyCelebA(t)
	whole := must.Get(readPicture(filepath.Join(dir, "celeba", celebaFolder, "000003.jpg")))
	m := fromPicture(whole, whole.Bounds())
	steps := func(crop, size int) []float32 {
		t.Helper()
		out, err := m, error(nil)
		if crop > 0 {
			out, err = m.CenterCrop(crop, crop)
		}
		if err == nil {
			out, err = out.Resize(size, size, Bilinear8)
		}
		if err != nil {
			t.Fatal(err)
		}
		return out.Pixels()
	}
	for _, test := range []struct {
		c    CelebA
		want []float32
	}{
		{CelebA{}, steps(140, 64)},
		{CelebA{Size: 32}, steps(140, 32)},
		{CelebA{Whole: true, Size: 32}, steps(0, 32)},
	} {
		test.c.From.Dir = dir
		faces := must.Get(test.c.Open())
		got := must.Get(faces.Take(t.Context(), []int{2}))
		if !slices.Equal(got.Pixels(), test.want) {
			t.Errorf("%+v differs from its steps", test.c)
		}
	}
}

func TestCelebARefuses(t *testing.T) {
	alone(t)
	second := filepath.Join(celebaFolder, "000002.jpg")
	for _, test := range []struct {
		name, file string
		change     func(s string) string // of the file, which is removed without
		is         error
		texts      []string
	}{
		{"no folder", "", nil, ErrMissing, []string{"mmlab.ie.cuhk.edu.hk", celebaAttrFile}},
		{"no attributes", celebaAttrFile, nil, ErrMissing, []string{celebaAttrFile}},
		{"cut attributes", celebaAttrFile, func(s string) string { return s[:len(s)-30] }, ErrCorrupt,
			[]string{celebaAttrFile, "line 9: 1 columns"}},
		{"cut partition", celebaPartFile,
			func(s string) string { return strings.Replace(s, "000008.jpg 2\n", "", 1) }, ErrCorrupt,
			[]string{"different images"}},
		{"missing image", second, nil, fs.ErrNotExist, []string{"000002.jpg", "no such file"}},
		{"cut image", second, func(s string) string { return s[:len(s)/2] }, ErrCorrupt, []string{"000002.jpg"}},
		{"no JPEG", second, func(string) string { return "<html>" }, ErrCorrupt, []string{"000002.jpg"}},
		{"small image", second, func(string) string { return string(faceJPEG(1, 178, 139)) }, ErrCorrupt,
			[]string{"000002.jpg", "178×139 pixels: want at least 140×140"}},
		{"claims 65535×65535", second, func(s string) string {
			at := strings.Index(s, "\xff\xc0") + 5 // height and width in the frame header
			return s[:at] + "\xff\xff\xff\xff" + s[at+4:]
		}, ErrCorrupt, []string{"000002.jpg", "65535×65535"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := tinyCelebA(t)
			path := filepath.Join(dir, "celeba", test.file)
			if test.change != nil {
				edit(t, path, test.change)
			} else {
				must.Do(os.RemoveAll(path))
			}
			faces, err := CelebA{From: From{Dir: dir}}.Open()
			if err == nil {
				_, err = faces.Load(t.Context())
			}
			if !errors.Is(err, test.is) {
				t.Errorf("error %v: want one that wraps %v", err, test.is)
			}
			wantError(t, err, append(test.texts, "data: ")...)
		})
	}
	for text, c := range map[string]CelebA{
		`With = "Old": want one of Male Young`: {With: []string{"Old"}},
		`Label = "Old"`:                        {Label: "Old"},
		"Split = Split(7)":                     {Split: 7},
		"Size = -1":                            {Size: -1},
		"Size = 1048576":                       {Size: 1 << 20},
	} {
		c.From.Dir = tinyCelebA(t)
		_, err := c.Open()
		wantError(t, err, text, "data: ")
	}
}

// A list of the official length that is not the official one is refused.
func TestCelebAOfficialList(t *testing.T) {
	dir := tinyCelebA(t)
	var attributes bytes.Buffer
	fmt.Fprintf(&attributes, "%d\nMale\n", celebaImages)
	for i := range celebaImages {
		fmt.Fprintf(&attributes, "%06d.jpg 1\n", i+1)
	}
	put(filepath.Join(dir, "celeba", celebaAttrFile), attributes.Bytes())
	_, err := CelebA{From: From{Dir: dir}}.Open()
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("error %v: want ErrCorrupt", err)
	}
	wantError(t, err, celebaAttrFile, "MD5", celebaAttrMD5)
}
