package cpu

import (
	"fmt"
	"unsafe"
)

// Convolutions without a matrix of patches: a tap is an element under a window, and groups of four windows meet its
// weights of many channels at once. The image is read where it lies; weights are packed in strips of channels.

// Group is the number of windows, or of what else reads an image at equal distances, that are summed together.
const Group = 4

// Offsets is where the taps of a window lie from its first element on.
type Offsets struct {
	at    []int // in elements
	steps []int // from each to the next, in bytes
	most  int
}

// NewOffsets makes the offsets of taps for elements of type T. They are at least 0.
func NewOffsets[T Float](at []int) Offsets {
	o := Offsets{at: at, steps: make([]int, len(at))}
	for k, v := range at {
		if v < 0 {
			panic(fmt.Sprintf("cpu: NewOffsets: offset %d = %d: must be at least 0", k, v))
		}
		o.most = max(o.most, v)
		if k > 0 {
			o.steps[k-1] = (v - at[k-1]) * int(unsafe.Sizeof(T(0)))
		}
	}
	return o
}

// Slice returns the offsets from … to−1.
func (o Offsets) Slice(from, to int) Offsets {
	return Offsets{at: o.at[from:to], steps: o.steps[from:to], most: o.most}
}

// Strips cuts channels into strips whose width the kernels have. The last one may be wider than the rest.
func (k Kernels[T]) Strips(channels int) (widths []int) {
	lanes, wide := k.tapLanes()
	for channels > 0 {
		width, vectors := lanes, (channels+lanes-1)/lanes
		switch {
		case k.isa() == AVX2 && vectors == 2: // two strips of one are slower
			width = 2 * lanes
		case vectors >= wide:
			width = wide * lanes
		case k.isa() == AVX512 && channels <= lanes/2:
			width = lanes / 2 // the vectors of AVX2
		}
		widths = append(widths, width)
		channels -= width
	}
	return widths
}

// tapISA is the instruction set for strips of a width: AVX2 for half vectors.
func (k Kernels[T]) tapISA(width int) ISA {
	isa := k.isa()
	if lanes, _ := k.tapLanes(); isa == AVX512 && width < lanes {
		return AVX2
	}
	return isa
}

// tapLanes is the elements of a vector and the vectors of a wide strip.
func (k Kernels[T]) tapLanes() (lanes, wide int) {
	per := 8 / int(unsafe.Sizeof(T(0)))
	switch k.isa() {
	case AVX512:
		return 8 * per, 2
	case AVX2:
		return 4 * per, 3
	default:
		return 4, 1
	}
}

// TapGroups returns the number of groups that SumTaps does at once for strips of a width: acc has
// room for a multiple of them.
func (k Kernels[T]) TapGroups(width int) int {
	k.ISA = k.tapISA(width)
	lanes, _ := k.tapLanes()
	switch {
	case k.ISA == Generic:
		return 1
	case k.ISA == AVX512 && width == lanes:
		return 6
	case k.ISA == AVX512 || width == lanes:
		return 3
	default:
		return 1
	}
}

// tapDepth is the taps that are summed before the sum is added to acc.
const tapDepth = 256

// The kernels of SumTaps, by their numbers.
const (
	tapsTall = iota
	tapsThree
	tapsPair
	tapsWide
	tapsFew
)

// SumTaps adds to acc, or where it is new writes to it, rows of width elements, four to a group,
//
//	acc[4g+r, j] += Σ_k image[groups[g] + r·step + offset_k] · b[k·width + j],
//
// in blocks of 256 taps in their order. width is one of Strips. len(acc) is that of a multiple of TapGroups groups;
// elements beyond len(groups) of them are ignored. b has a row for each offset.
func (k Kernels[T]) SumTaps(acc, image []T, groups []int, step int, offsets Offsets, b []T, width int, isNew bool) {
	team := k.TapGroups(width)
	k.checkTaps(acc, image, groups, step, offsets, b, width, team)
	k.ISA = k.tapISA(width)
	f := k.form()
	lanes, _ := k.tapLanes()
	var rest [6]int
	if isNew && len(offsets.at) == 0 {
		clear(acc)
	}
	for lo := 0; lo < len(offsets.at) && len(groups) > 0; lo += tapDepth {
		held := 1
		if isNew && lo == 0 {
			held = 0
		}
		depth := min(tapDepth, len(offsets.at)-lo)
		from, rows := image[offsets.at[lo]:], at(b[lo*width:])
		for g, done := 0, 0; g < len(groups); g += done {
			c, table, n := ptr(&acc[g*Group*width]), &groups[g], len(groups)-g
			done = team
			switch { // the number of groups at a time that leaves the fewest unused
			case team > 1 && (n <= 2 || n == 4):
				done = 2
			case team == 6 && (n < 6 || n == 7):
				done = 3
			}
			if n < done { // the rest reads what the last group reads
				for i := copy(rest[:], groups[g:]); i < done; i++ {
					rest[i] = groups[len(groups)-1]
				}
				table = &rest[0]
			}
			if f == plain {
				plainTaps(acc[g*Group*width:][:Group*width], image, *table, step, offsets.at[lo:lo+depth],
					b[lo*width:], held)
				continue
			}
			kernel := tapsTall
			switch {
			case width != lanes && (done < team || k.ISA == AVX2 && width == 2*lanes):
				kernel = tapsFew
			case width != lanes:
				kernel = tapsWide
			case done == 2:
				kernel = tapsPair
			case done < team:
				kernel = tapsThree
			}
			asmTaps(f.kind(kernel), c, at(from), rows, table, &offsets.steps[lo], depth, step, held)
		}
	}
}

// checkTaps panics where the kernels would leave the slices.
func (k Kernels[T]) checkTaps(acc, image []T, groups []int, step int, offsets Offsets, b []T, width, team int) {
	most := 0
	for _, g := range groups {
		if g < 0 {
			panic(fmt.Sprintf("cpu: SumTaps: a group starts at %d", g))
		}
		most = max(most, g)
	}
	if len(offsets.at) > 0 && len(groups) > 0 && (step < 0 || most+(Group-1)*step+offsets.most >= len(image)) {
		panic(fmt.Sprintf("cpu: SumTaps: element %d of an image of %d", most+(Group-1)*step+offsets.most, len(image)))
	}
	if need := ceil(len(groups), team) * Group * width; len(acc) < need || len(b) < len(offsets.at)*width {
		panic(fmt.Sprintf("cpu: SumTaps: len(acc) = %d, must be at least %d; len(b) = %d, at least %d", len(acc), need,
			len(b), len(offsets.at)*width))
	}
}

// plainTaps is one group in Go, of four channels.
func plainTaps[T Float](acc, image []T, group, step int, offsets []int, b []T, held int) {
	if held == 0 {
		clear(acc)
	}
	for r := range Group {
		var s [4]T
		for k, o := range offsets {
			x, row := image[group+r*step+o], b[4*k:4*k+4]
			s[0] += x * row[0]
			s[1] += x * row[1]
			s[2] += x * row[2]
			s[3] += x * row[3]
		}
		for j, v := range s {
			acc[4*r+j] += v
		}
	}
}

// CopyRows writes src, rows×cols with rows srcStride apart, to rows of dst that are dstStride
// apart: a call for many short rows. dst overlaps neither itself nor src.
func (k Kernels[T]) CopyRows(dst []T, dstStride int, src []T, srcStride, rows, cols int) {
	if rows == 0 || cols == 0 {
		return
	}
	checkRows("CopyRows", len(dst), dstStride, len(src), srcStride, rows, cols, rows, cols)
	if f := k.form(); f != plain {
		asmCopyRows(f, at(dst), at(src), dstStride, srcStride, rows, cols)
		return
	}
	for i := range rows {
		copy(dst[i*dstStride:][:cols], src[i*srcStride:])
	}
}

// checkRows panics where dst does not hold down rows of across elements, or src not rows×cols.
func checkRows(kernel string, dst, dstStride, src, srcStride, rows, cols, down, across int) {
	if srcStride < 0 || dstStride < across || src < (rows-1)*srcStride+cols || dst < (down-1)*dstStride+across {
		panic(fmt.Sprintf("cpu: %s: %d×%d with strides %d and %d do not fit %d and %d elements", kernel, rows, cols,
			srcStride, dstStride, src, dst))
	}
}

// Transpose writes src, rows×cols with rows srcStride apart, as the columns of dst: dst[j·dstStride
// + i] = src[i·srcStride + j]. They do not overlap.
func (k Kernels[T]) Transpose(dst []T, dstStride int, src []T, srcStride, rows, cols int) {
	if rows == 0 || cols == 0 {
		return
	}
	checkRows("Transpose", len(dst), dstStride, len(src), srcStride, rows, cols, cols, rows)
	f, side := k.form(), 32/int(unsafe.Sizeof(T(0)))
	if f == plain || rows < side || cols < side {
		plainTranspose(dst, dstStride, src, srcStride, rows, cols)
		return
	}
	// Squares along the longer axis; the last ones overlap those before.
	dstMove, srcMove := 1, srcStride
	short, long, dstShort, srcShort := cols, rows, dstStride, 1
	if cols > rows {
		dstMove, srcMove = dstStride, 1
		short, long, dstShort, srcShort = rows, cols, 1, srcStride
	}
	for at := 0; at < short; at += side {
		i := min(at, short-side)
		d, s, last := dst[i*dstShort:], src[i*srcShort:], long-side
		asmTransposeStrip(f, ptr(&d[0]), ptr(&s[0]), dstStride, srcStride, dstMove*side, srcMove*side, long/side)
		if long%side > 0 {
			asmTransposeStrip(f, ptr(&d[last*dstMove]), ptr(&s[last*srcMove]), dstStride, srcStride, 0, 0, 1)
		}
	}
}

// plainTranspose is Transpose in Go.
func plainTranspose[T Float](dst []T, dstStride int, src []T, srcStride, rows, cols int) {
	for i := range rows {
		to := dst[i:]
		for j, v := range src[i*srcStride:][:cols] {
			to[j*dstStride] = v
		}
	}
}
