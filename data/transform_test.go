package data

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"coupling/lab/must"
)

func TestScale(t *testing.T) {
	m := &Images{pixels: []float32{-1, 0, 0.5, 1}, n: 1, c: 1, h: 2, w: 2, Lo: -1, Hi: 1}
	unit := must.Get(m.Scale(0, 1))
	if diff := cmp.Diff([]float32{0, 0.5, 0.75, 1}, unit.pixels); diff != "" || unit.Lo != 0 || unit.Hi != 1 {
		t.Errorf("in [0, 1]: %v, range [%v, %v]", unit.pixels, unit.Lo, unit.Hi)
	}
	back := must.Get(unit.Scale(-1, 1))
	if diff := cmp.Diff(m.pixels, back.pixels); diff != "" {
		t.Error(diff)
	}
	for _, r := range [][2]float32{{1, 1}, {1, 0}, {0, float32(math.Inf(1))}, {float32(math.NaN()), 1}} {
		if _, err := m.Scale(r[0], r[1]); err == nil {
			t.Errorf("range %v was accepted", r)
		}
	}
	m.Hi = m.Lo
	_, err := m.Scale(0, 1)
	wantError(t, err, "range [-1, -1]")
}

func TestCropAndPad(t *testing.T) {
	m := numbered(1, 1, 4, 5, 1)
	crop := must.Get(m.CenterCrop(2, 3))
	if diff := cmp.Diff([]float32{6, 7, 8, 11, 12, 13}, crop.pixels); diff != "" {
		t.Error(diff)
	}
	// Margins ½ and 1½: torchvision's round() goes to 0 and 2.
	crop = must.Get(m.CenterCrop(3, 2))
	if diff := cmp.Diff([]float32{2, 3, 7, 8, 12, 13}, crop.pixels); diff != "" {
		t.Error(diff)
	}
	m = numbered(2, 1, 1, 2, 1)
	m.Lo = -5
	pad := must.Get(m.Pad(1, 2))
	want := []float32{
		-5, -5, -5, -5, -5, -5,
		-5, -5, 0, 1, -5, -5,
		-5, -5, -5, -5, -5, -5,
		-5, -5, -5, -5, -5, -5,
		-5, -5, 2, 3, -5, -5,
		-5, -5, -5, -5, -5, -5,
	}
	if diff := cmp.Diff(want, pad.pixels); diff != "" {
		t.Error(diff)
	}
	rapid.Check(t, func(rt *rapid.T) {
		size, margin := rapid.IntRange(1, 6), rapid.IntRange(0, 4)
		m := numbered(2, 3, size.Draw(rt, "h"), size.Draw(rt, "w"), 1)
		padded, err := m.Pad(margin.Draw(rt, "dy"), margin.Draw(rt, "dx"))
		if err != nil {
			rt.Fatal(err)
		}
		back, err := padded.CenterCrop(m.h, m.w)
		if err != nil {
			rt.Fatal(err)
		}
		if !slices.Equal(back.pixels, m.pixels) {
			rt.Fatalf("padded and cropped: %v, want %v", back.pixels, m.pixels)
		}
	})
	_, err := m.CenterCrop(2, 2)
	wantError(t, err, "h = 2, w = 2", "1 to 1 and 1 to 2")
	_, err = m.Pad(-1, 0)
	wantError(t, err, "dy = -1")
}

func TestColours(t *testing.T) {
	m := &Images{pixels: []float32{1, 0, 0, 1, 0, 0}, n: 1, c: 3, h: 1, w: 2, Hi: 1, Labels: []int{4}}
	grey := must.Get(m.Grey())
	if diff := cmp.Diff([]float32{0.299, 0.587}, grey.pixels); diff != "" || grey.Labels[0] != 4 {
		t.Errorf("grey %v, labels %v", grey.pixels, grey.Labels)
	}
	rgb := must.Get(grey.RGB())
	if diff := cmp.Diff([]float32{0.299, 0.587, 0.299, 0.587, 0.299, 0.587}, rgb.pixels); diff != "" {
		t.Error(diff)
	}
	same, err := m.RGB()
	if err != nil || !slices.Equal(same.pixels, m.pixels) {
		t.Errorf("RGB of RGB: %v, %v", same, err)
	}
	two := numbered(1, 2, 1, 1, 1)
	_, err = two.Grey()
	wantError(t, err, "2 channels")
	_, err = two.RGB()
	wantError(t, err, "2 channels")
}

func TestWithMirrored(t *testing.T) {
	both := numbered(2, 2, 2, 2, 2).WithMirrored()
	want := [][]float32{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}, {1, 0, 3, 2, 5, 4, 7, 6},
		{9, 8, 11, 10, 13, 12, 15, 14}}
	if diff := cmp.Diff(slices.Concat(want...), both.pixels) + cmp.Diff([]int{0, 1, 0, 1}, both.Labels); diff != "" {
		t.Error(diff)
	}
}
