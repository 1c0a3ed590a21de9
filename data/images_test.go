package data

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	_ "coupling/lab/draws"
	"coupling/lab/must"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// numbered returns images whose values are 0, 1, 2, … and whose labels are
// i modulo classes.
func numbered(n, c, h, w, classes int) *Images {
	m := must.Get(New(n, c, h, w))
	m.Name, m.Hi = "numbered", max(float32(n*c*h*w), 1)
	for i := range m.pixels {
		m.pixels[i] = float32(i)
	}
	m.Labels = make([]int, n)
	for i := range m.Labels {
		m.Labels[i] = i % classes
	}
	for k := range classes {
		m.Classes = append(m.Classes, fmt.Sprint("class ", k))
	}
	return m
}

func wantError(t testing.TB, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error: want one that mentions %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q: want it to mention %q", err, text)
		}
	}
}

func TestViewsShareMemory(t *testing.T) {
	m := numbered(3, 2, 2, 5, 2)
	if n, c, h, w := m.Shape(); n != 3 || c != 2 || h != 2 || w != 5 || m.Len() != 3 || m.Dim() != 20 {
		t.Errorf("shape %d×%d×%d×%d, length %d, dimension %d", n, c, h, w, m.Len(), m.Dim())
	}
	m.Row(1)[3] = -7
	if cap(m.Row(1)) != 20 {
		t.Error("appending to a row would overwrite the next")
	}
	x := m.Mat()
	if r, c := x.Dims(); r != 3 || c != 20 || x.At(1, 3) != -7 {
		t.Errorf("Mat is %d×%d with %v at (1, 3)", r, c, x.At(1, 3))
	}
	if x.Set(1, 3, 0); m.Row(1)[3] != -7 {
		t.Error("Mat shares memory: want a copy")
	}
}

func TestFromPixels(t *testing.T) {
	backing := []float32{1, 2, 3, 4, 5, 6}
	m := must.Get(FromPixels(backing, 1, 1, 2, 3, -1, 1))
	if backing[5] = 60; m.Row(0)[5] != 60 || m.Lo != -1 {
		t.Error("the images do not share the memory of their pixels")
	}
	_, err := FromPixels(backing, 2, 1, 2, 3, 0, 1)
	wantError(t, err, "6 pixels", "2·1·2·3 = 12")
	_, err = FromPixels(backing, 6, 0, 1, 1, 0, 1)
	wantError(t, err, "6×0×1×1")
	_, err = FromPixels(backing, 1, 1, 2, 3, 1, 1)
	wantError(t, err, "range [1, 1]")
}

func TestFromMat(t *testing.T) {
	m := numbered(3, 1, 2, 2, 2)
	back := must.Get(FromMat(m.Mat(), 1, 2, 2, 0, 1))
	if diff := cmp.Diff(m.pixels, back.pixels); diff != "" {
		t.Error(diff)
	}
	_, err := FromMat(m.Mat(), 1, 2, 3, 0, 1)
	wantError(t, err, "4 columns", "1·2·3 = 6")
	empty, err := FromMat(&mat.Dense{}, 1, 2, 2, 0, 1)
	if err != nil || empty.Len() != 0 {
		t.Errorf("an empty matrix: %v", err)
	}
}

// An empty batch of Poisson sampling is a set like any other.
func TestEmpty(t *testing.T) {
	m := numbered(3, 1, 2, 2, 2).Take(nil)
	if m.Len() != 0 || !m.Mat().IsEmpty() || m.Labels == nil {
		t.Errorf("an empty set: %+v", m)
	}
	for name, f := range map[string]func() (*Images, error){
		"resize": func() (*Images, error) { return m.Resize(5, 5, Bilinear) },
		"scale":  func() (*Images, error) { return m.Scale(-1, 1) },
		"crop":   func() (*Images, error) { return m.CenterCrop(1, 1) },
		"pad":    func() (*Images, error) { return m.Pad(1, 1) },
		"RGB":    m.RGB,
		"grey":   m.Grey,
		"pick":   func() (*Images, error) { return m.Pick(newRand(1), 0) },
	} {
		if out, err := f(); err != nil || out.Len() != 0 {
			t.Errorf("%s of an empty set: %v", name, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, s := range [][4]int{{-1, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, -1, 1}, {math.MaxInt / 8, 3, 1, 1},
		{0, math.MaxInt, 2, 1}} {
		if _, err := New(s[0], s[1], s[2], s[3]); err == nil {
			t.Errorf("shape %v was accepted", s)
		}
	}
}

func TestTakeAndSlice(t *testing.T) {
	m := numbered(5, 1, 1, 2, 3)
	got := m.Take([]int{4, 0, 4})
	if diff := cmp.Diff([]float32{8, 9, 0, 1, 8, 9}, got.pixels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{1, 0, 1}, got.Labels); diff != "" {
		t.Error(diff)
	}
	if got.pixels[0] = -1; m.Row(4)[0] != 8 {
		t.Error("Take shares memory: want a copy")
	}
	view := m.Slice(1, 3)
	if view.Len() != 2 || view.Row(0)[0] != 2 || !slices.Equal(view.Labels, []int{1, 2}) {
		t.Errorf("slice %+v", view)
	}
	if view.Row(0)[0] = -2; m.Row(1)[0] != -2 {
		t.Error("Slice copies: want a view")
	}
	if got := m.AppendRows(nil, []int{3, 2}); !slices.Equal(got, []float32{6, 7, 4, 5}) {
		t.Errorf("rows 3 and 2 are %v", got)
	}
	m.Labels = nil
	if m.Take([]int{1}).Labels != nil || m.Slice(0, 1).Labels != nil || m.ByClass() != nil {
		t.Error("labels from nowhere")
	}
}

func TestByClass(t *testing.T) {
	m := numbered(7, 1, 1, 1, 3)
	m.Classes = append(m.Classes, "never")
	want := [][]int{{0, 3, 6}, {1, 4}, {2, 5}, nil}
	if diff := cmp.Diff(want, m.ByClass()); diff != "" {
		t.Error(diff)
	}
	m.Classes = nil
	if diff := cmp.Diff(want[:3], m.ByClass()); diff != "" {
		t.Error(diff)
	}
	sorted := m.SortByClass()
	if !slices.Equal(sorted.Labels, []int{0, 0, 0, 1, 1, 2, 2}) ||
		!slices.Equal(sorted.pixels, []float32{0, 3, 6, 1, 4, 2, 5}) {
		t.Errorf("sorted: labels %v, values %v", sorted.Labels, sorted.pixels)
	}
}

func TestPick(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		total, classes := rapid.IntRange(1, 60).Draw(rt, "total"), rapid.IntRange(1, 5).Draw(rt, "classes")
		n := rapid.IntRange(0, total).Draw(rt, "n")
		m := numbered(total, 1, 1, 1, classes)
		rng := newRand(rapid.Uint64().Draw(rt, "seed"))
		picked, err := m.Pick(rng, n)
		if err != nil {
			rt.Fatal(err)
		}
		distinct := slices.Compact(slices.Sorted(slices.Values(picked.pixels)))
		if picked.Len() != n || len(distinct) != n {
			rt.Fatalf("picked %v: want %d different images", picked.pixels, n)
		}
		for i, v := range picked.pixels {
			if picked.Labels[i] != int(v)%classes {
				rt.Fatalf("image %v has label %d", v, picked.Labels[i])
			}
		}
	})
	m := numbered(5, 1, 1, 1, 2)
	_, tooMany := m.Pick(newRand(1), 6)
	wantError(t, tooMany, "n = 6", "[0, 5]")
}

// Each image is as likely as any other.
func TestPickIsFair(t *testing.T) {
	const draws = 6000
	m := numbered(9, 1, 1, 1, 3)
	rng := newRand(2)
	counts := make([]int, 9)
	for range draws {
		picked := must.Get(m.Pick(rng, 4))
		for _, v := range picked.pixels {
			counts[int(v)]++
		}
	}
	for i, c := range counts {
		// Each is present with probability 4/9; six standard deviations.
		if z := (float64(c) - draws*4/9.0) / math.Sqrt(draws*20/81.0); math.Abs(z) > 6 {
			t.Errorf("image %d was picked %d times of %d: want some %d", i, c, draws, draws*4/9)
		}
	}
}

func TestPartition(t *testing.T) {
	m := numbered(10, 1, 1, 2, 3)
	parts := must.Get(m.Partition(newRand(3), 6, 3))
	seen := map[int]bool{}
	for k, want := range []int{6, 3} {
		part := parts[k]
		if part.Len() != want || len(part.Labels) != want || part.Name != "numbered" {
			t.Errorf("%d images, %d labels of %q", part.Len(), len(part.Labels), part.Name)
		}
		for i := range part.Len() {
			original := int(part.Row(i)[0]) / 2
			if seen[original] || part.Labels[i] != m.Labels[original] {
				t.Errorf("image %d came twice or with another label", original)
			}
			seen[original] = true
		}
	}
	_, err := m.Partition(newRand(3), 6, 5)
	wantError(t, err, "numbered", "sizes = [6 5]")
}

// About the share is kept apart; one image less takes only itself away, from either part, where a split by place
// moves others.
func TestApart(t *testing.T) {
	m := must.Get(New(400, 1, 2, 2))
	for i := range m.Pixels() {
		m.Pixels()[i] = float32(i)
	}
	less := m.Slice(1, m.Len())
	most, kept := m.Apart(.25)
	most1, kept1 := less.Apart(.25)
	gone := 0
	for _, part := range [][2]*Images{{most, most1}, {kept, kept1}} {
		n := part[0].Len() - part[1].Len()
		if gone += n; !slices.Equal(part[0].Pixels()[4*n:], part[1].Pixels()) {
			t.Error("one image less moves others to the other part")
		}
	}
	if gone != 1 || kept.Len() < 60 || kept.Len() > 140 { // 400 at a quarter: 4.6 standard deviations
		t.Errorf("%d of 400 are kept, and %d are gone", kept.Len(), gone)
	}
}

// Images of bytes are their copies of float32 to the bit, whatever is made of them; parts stay bytes.
func TestBytesAreTheirValues(t *testing.T) {
	m := numbered(7, 3, 4, 5, 2)
	m.pixels, m.bytes, m.Hi = nil, make([]uint8, m.n*m.Dim()), 1
	for i := range m.bytes {
		m.bytes[i] = uint8(37*i + i*i%11)
	}
	for name, f := range map[string]func(*Images) (*Images, error){
		"part":          func(m *Images) (*Images, error) { return m.Slice(1, 7).Take([]int{5, 0, 5}), nil },
		"part apart":    func(m *Images) (*Images, error) { _, kept := m.Apart(.5); return kept, nil },
		"part mirrored": func(m *Images) (*Images, error) { return m.WithMirrored(), nil },
		"part, 8-bit":   func(m *Images) (*Images, error) { return m.Resize(3, 7, Bilinear8) },
		"8-bit of another range": func(m *Images) (*Images, error) {
			wide := *m
			wide.Hi = 2
			return wide.Resize(3, 7, Bilinear8)
		},
		"resized": func(m *Images) (*Images, error) { return m.Resize(3, 7, Bilinear) },
		"scaled":  func(m *Images) (*Images, error) { return m.Scale(-1, 3) },
		"padded":  func(m *Images) (*Images, error) { return m.Pad(1, 2) },
		"cropped": func(m *Images) (*Images, error) { return m.CenterCrop(2, 3) },
		"matrix":  func(m *Images) (*Images, error) { return FromMat(m.Mat(), 3, 4, 5, 0, 1) },
		"grey":    (*Images).Grey,
		"RGB":     (*Images).RGB,
	} {
		got, want := must.Get(f(m)), must.Get(f(m.Clone()))
		last := got.Len() - 1
		if !slices.Equal(got.Pixels(), want.pixels) || !slices.Equal(got.Row(last), want.Row(last)) ||
			!slices.Equal(got.Labels, want.Labels) || (got.bytes != nil) != strings.HasPrefix(name, "part") {
			t.Errorf("%s: %v, in bytes: %v, want %v", name, got.Pixels(), got.bytes, want.pixels)
		}
	}
}
