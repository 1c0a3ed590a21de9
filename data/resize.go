package data

import (
	"context"
	"fmt"
	"math"

	"coupling/lab/device/cpu"
)

// Filter selects the method of resizing. In all of them pixels are squares whose
// centres lie at half-integers, so that output pixel i of n looks at input
// position (i + ½)·N/n, and the outer edges of both images coincide
// ("align_corners = False").
type Filter int

const (
	// Bilinear weighs inputs by a triangle that reaches one pixel to each side,
	// stretched by the ratio N/n when shrinking so that no input is skipped
	// (antialiasing). It computes what Pillow does on images of mode F, and
	// torchvision on tensors with antialias=True.
	Bilinear Filter = iota
	// Bilinear8 is Bilinear as Pillow and torchvision compute it on 8-bit images:
	// values are rounded to 256 levels between Lo and Hi at the start and after
	// each of the two passes, with weights of 22 bits. It is bit-exact.
	Bilinear8
	// Nearest takes the input pixel that holds the position, exactly as Pillow does.
	// (interpolate with mode="nearest" looks at i·N/n, without the half pixel;
	// its "nearest-exact" is this one.)
	Nearest
)

// String returns the filter's name.
func (f Filter) String() string {
	if f < Bilinear || f > Nearest {
		return fmt.Sprintf("Filter(%d)", int(f))
	}
	return [...]string{"bilinear", "bilinear, 8-bit", "nearest"}[f]
}

// Resize returns the images at h rows and w columns. It returns an error when h
// or w is not positive or the filter is unknown. Cost per image and channel:
// O(H·w + h·w) times the ratios by which it shrinks.
func (m *Images) Resize(h, w int, filter Filter) (*Images, error) {
	if err := checkShape(m.n, m.c, h, w); err != nil {
		return nil, err
	}
	if filter < Bilinear || filter > Nearest {
		return nil, fmt.Errorf("data: filter = %v: unknown", filter)
	}
	out := m.header(m.n, m.c, h, w)
	if filter == Bilinear8 && m.bytes != nil && m.Lo == 0 && m.Hi == 1 {
		out.bytes = make([]uint8, m.n*m.c*h*w)
	} else {
		out.pixels = make([]float32, m.n*m.c*h*w)
	}
	across, down := newKernel(m.w, w, filter), newKernel(m.h, h, filter)
	const chunk = 64
	table := levels(m.Lo, m.Hi)
	err := cpu.Chunks(context.Background(), m.n*m.c, chunk, func(_, lo, hi int) {
		for plane := lo; plane < hi; plane++ {
			from, end, to := plane*m.h*m.w, (plane+1)*m.h*m.w, plane*h*w
			switch {
			case out.bytes != nil:
				copy(out.bytes[to:], resize8(m.bytes[from:end], m.h, m.w, across, down))
			case filter == Bilinear8:
				for i, b := range resize8(m.toBytes(m.values(from, end)), m.h, m.w, across, down) {
					out.pixels[to+i] = table[b]
				}
			default:
				copy(out.pixels[to:], resize(m.values(from, end), m.h, m.w, across, down))
			}
		}
	})
	return out, err
}

// kernel holds, for each output pixel of a line, the first input pixel that it
// looks at and the weights from there on, which add up to 1.
type kernel struct {
	in    int
	first []int
	taps  [][]float64
	taps8 [][]int32 // in units of 2^-22
}

func newKernel(in, out int, filter Filter) kernel {
	k := kernel{in: in, first: make([]int, out), taps: make([][]float64, out), taps8: make([][]int32, out)}
	ratio := float64(in) / float64(out)
	reach := max(ratio, 1)
	if filter == Nearest {
		// Added up, not multiplied, as in Pillow: if a position falls on the edge of two pixels,
		// the rounding of the sum decides.
		position := ratio / 2
		for i := range out {
			k.first[i], k.taps[i] = min(int(position), in-1), []float64{1}
			position += ratio
		}
		return k
	}
	for i := range out {
		centre := (float64(i) + 0.5) * ratio
		k.first[i], k.taps[i] = triangle(centre, reach, in)
		k.taps8[i] = make([]int32, len(k.taps[i]))
		for j, tap := range k.taps[i] {
			k.taps8[i][j] = int32(math.Floor(tap*(1<<22) + 0.5))
		}
	}
	return k
}

// triangle returns the weights 1 - |x - centre|/reach of the pixel centres x near a position,
// scaled to add up to 1; pixels beyond the edges do not count.
func triangle(centre, reach float64, in int) (first int, taps []float64) {
	first = max(int(centre-reach+0.5), 0)
	end := min(int(centre+reach+0.5), in)
	taps = make([]float64, end-first)
	sum := 0.0
	for j := range taps {
		taps[j] = max(0, 1-math.Abs((float64(first+j)-centre+0.5)/reach))
		sum += taps[j]
	}
	for j := range taps {
		taps[j] /= sum
	}
	return first, taps
}

// identity reports whether a pass would change nothing.
func (k kernel) identity() bool { return k.in == len(k.first) }

// resample filters along the lines, then along the columns, with sums that begin at half and are rounded to pixels.
func resample[P float32 | uint8, W float64 | int32](from []P, h, w int, across, down kernel, taps func(kernel) [][]W,
	half W, round func(W) P) []P {
	width := len(across.first)
	if weights := taps(across); !across.identity() {
		middle := make([]P, h*width)
		for y := range h {
			line := from[y*w : (y+1)*w]
			for x, first := range across.first {
				sum := half
				for j, tap := range weights[x] {
					sum += tap * W(line[first+j])
				}
				middle[y*width+x] = round(sum)
			}
		}
		from = middle
	}
	if down.identity() {
		return from
	}
	to, weights := make([]P, len(down.first)*width), taps(down)
	for y, first := range down.first {
		for x := range width {
			sum := half
			for j, tap := range weights[y] {
				sum += tap * W(from[(first+j)*width+x])
			}
			to[y*width+x] = round(sum)
		}
	}
	return to
}

// resize filters in floating point.
func resize(from []float32, h, w int, across, down kernel) []float32 {
	return resample(from, h, w, across, down, func(k kernel) [][]float64 { return k.taps }, 0,
		func(s float64) float32 { return float32(s) })
}

// resize8 filters bytes in Pillow's fixed-point arithmetic.
func resize8(from []uint8, h, w int, across, down kernel) []uint8 {
	return resample(from, h, w, across, down, func(k kernel) [][]int32 { return k.taps8 }, 1<<21,
		func(s int32) uint8 { return uint8(min(max(s>>22, 0), 255)) })
}

// toBytes rounds values to 256 levels between Lo and Hi.
func (m *Images) toBytes(values []float32) []uint8 {
	bytes := make([]uint8, len(values))
	scale := 255 / (float64(m.Hi) - float64(m.Lo))
	for i, v := range values {
		bytes[i] = uint8(min(max(math.Round((float64(v)-float64(m.Lo))*scale), 0), 255))
	}
	return bytes
}
