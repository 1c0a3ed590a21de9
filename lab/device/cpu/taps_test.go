package cpu

import (
	"math"
	"slices"
	"testing"
)

func TestSumTaps(t *testing.T) { onAll(t, sumTaps[float64], sumTaps[float32]) }

// sumTaps: any offsets in any order, few and many groups, strips of every width, against sums in float64; what a new
// accumulator held is not read.
func sumTaps[T Float](t *testing.T, k Kernels[T]) {
	r := seeded(31)
	for _, c := range []struct{ channels, groups, taps, step int }{
		{1, 1, 1, 1}, {16, 6, 9, 1}, {16, 7, 25, 2}, {33, 5, 300, 3}, {70, 13, 513, 17}, {5, 2, 0, 1}, {24, 3, 256, 0},
	} {
		image := random[T](r, 4000, 1)
		at, groups := make([]int, c.taps), make([]int, c.groups)
		for i := range at {
			at[i] = r.IntN(1000)
		}
		for i := range groups {
			groups[i] = r.IntN(2900)
		}
		for _, width := range k.Strips(c.channels) {
			b := random[T](r, c.taps*width, 1)
			rows := ceil(c.groups, k.TapGroups(width)) * Group
			acc, intact := guarded[T](rows * width)
			for i := range acc {
				acc[i] = T(math.NaN())
			}
			k.SumTaps(acc, image, groups, c.step, NewOffsets[T](at), b, width, true)
			fresh := slices.Clone(acc)
			for i := range acc {
				acc[i] = T(i % 5)
			}
			k.SumTaps(acc, image, groups, c.step, NewOffsets[T](at), b, width, false)
			for i := range c.groups * Group * width {
				row, j := i/width, i%width
				want, size := float64(i%5), float64(i%5)
				for q, o := range at {
					p := float64(image[groups[row/Group]+row%Group*c.step+o]) * float64(b[q*width+j])
					want, size = want+p, size+math.Abs(p)
				}
				near(t, label("%+v width %d [%d, %d], new", c, width, row, j), fresh[i], want-float64(i%5),
					unit[T]()*size*float64(6+c.taps/4))
				near(t, label("%+v width %d [%d, %d]", c, width, row, j), acc[i], want,
					unit[T]()*size*float64(6+c.taps/4))
			}
			if !intact() {
				t.Fatalf("%+v wrote outside acc", c)
			}
		}
	}
}

func TestStrips(t *testing.T) { onAll(t, strips[float64], strips[float32]) }

// strips cover the channels, the last one alone with room to spare.
func strips[T Float](t *testing.T, k Kernels[T]) {
	for channels := range 130 {
		left := channels
		for _, w := range k.Strips(channels) {
			if left <= 0 || w <= 0 {
				t.Fatalf("%d channels: %v", channels, k.Strips(channels))
			}
			left -= w
		}
		if left > 0 {
			t.Fatalf("%d channels: %v leaves %d", channels, k.Strips(channels), left)
		}
	}
}

func TestTranspose(t *testing.T) { onAll(t, transposes[float64], transposes[float32]) }

func transposes[T Float](t *testing.T, k Kernels[T]) {
	r := seeded(32)
	for range 60 {
		rows, cols := r.IntN(40), r.IntN(40)
		srcStride, dstStride := cols+r.IntN(3), rows+r.IntN(3)
		src := random[T](r, rows*srcStride, 1)
		dst, intact := guarded[T](cols * dstStride)
		k.Transpose(dst, dstStride, src, srcStride, rows, cols)
		for i := range rows {
			for j := range cols {
				if dst[j*dstStride+i] != src[i*srcStride+j] {
					t.Fatalf("%d×%d: element %d, %d", rows, cols, i, j)
				}
			}
		}
		if !intact() {
			t.Fatalf("%d×%d wrote outside", rows, cols)
		}
	}
}

func TestCopyRows(t *testing.T) { onAll(t, copiesRows[float64], copiesRows[float32]) }

func copiesRows[T Float](t *testing.T, k Kernels[T]) {
	r := seeded(33)
	for range 60 {
		rows, cols := r.IntN(20), r.IntN(150)
		srcStride, dstStride := cols+r.IntN(3), cols+r.IntN(3)
		src := random[T](r, rows*srcStride, 1)
		dst, intact := guarded[T](rows * dstStride)
		before := slices.Clone(dst)
		k.CopyRows(dst, dstStride, src, srcStride, rows, cols)
		for i, v := range dst {
			want := before[i]
			if at := i % max(1, dstStride); at < cols {
				want = src[i/dstStride*srcStride+at]
			}
			if v != want && want == want {
				t.Fatalf("%d×%d: element %d is %v, want %v", rows, cols, i, v, want)
			}
		}
		if !intact() {
			t.Fatalf("%d×%d wrote outside", rows, cols)
		}
	}
}
