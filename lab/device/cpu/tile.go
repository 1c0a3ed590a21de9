package cpu

import "unsafe"

// A tile is the block of C that the innermost loop of a Gemm holds in
// registers.
type tile[T Float] struct {
	isa        ISA
	rows, cols int
}

// maxTile is the most elements of a tile: 12 rows of 32 float32.
const maxTile = 12 * 32

func tileOf[T Float](isa ISA) tile[T] {
	lanes := 8 / int(unsafe.Sizeof(T(0)))
	switch isa {
	case AVX512:
		return tile[T]{isa, 12, 16 * lanes}
	case AVX2:
		return tile[T]{isa, 6, 8 * lanes}
	default:
		return tile[T]{isa, 2, 4}
	}
}

// run adds to the tile at c what op makes of packed a and b.
func (t tile[T]) run(op operation, c, a, b *T, depth, stride int) {
	switch {
	case t.isa == Generic:
		t.plain(op, c, a, b, depth, stride)
	case op == product:
		asmTileMul(t.isa, c, a, b, depth, stride)
	case op == square:
		asmTileSquare(t.isa, c, a, b, depth, stride)
	default:
		asmTileAbs(t.isa, c, a, b, depth, stride)
	}
}

// plain is run in Go, for tiles of 2 by 4.
func (t tile[T]) plain(op operation, c, a, b *T, depth, stride int) {
	pa, pb := unsafe.Slice(a, 2*depth), unsafe.Slice(b, 4*depth)
	var s [8]T
	for len(pa) >= 2 && len(pb) >= 4 {
		for i, x := range pa[:2] {
			row := s[4*i : 4*i+4]
			for j, y := range pb[:4] {
				switch d := x - y; {
				case op == product:
					row[j] += x * y
				case op == square:
					row[j] += d * d
				case d < 0:
					row[j] -= d
				default:
					row[j] += d
				}
			}
		}
		pa, pb = pa[2:], pb[4:]
	}
	out := unsafe.Slice(c, stride+4)
	for j := range 4 {
		out[j] += s[j]
		out[stride+j] += s[4+j]
	}
}
