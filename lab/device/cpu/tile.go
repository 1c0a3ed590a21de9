package cpu

import "unsafe"

// A tile is the block of C that the innermost loop of a Gemm holds in
// registers.
type tile[T Float] struct {
	form       form
	rows, cols int
	// of a block of A, which stays in the second-level cache, as a strip of B that deep does in the
	// first
	depth, high        int
	rowStep, depthStep int // between the elements of packed A
}

// maxTile is the most elements of a tile: 12 rows of 32 float32.
const maxTile = 12 * 32

func tileOf[T Float](k Kernels[T]) tile[T] {
	lanes := 8 / int(unsafe.Sizeof(T(0)))
	switch k.isa() {
	case AVX512:
		return tile[T]{form: k.form(), rows: 12, cols: 16 * lanes, depth: 256, high: 240}
	case AVX2:
		return tile[T]{form: k.form(), rows: 6, cols: 8 * lanes, depth: 384, high: 72}
	default:
		return tile[T]{form: k.form(), rows: 2, cols: 4, depth: 256, high: 240}
	}
}

// run adds to the tile at c what op makes of packed a and b.
func (t tile[T]) run(op operation, c, a, b ptr, depth, stride int) {
	if t.form == plain {
		t.plain(op, c, a, b, depth, stride)
		return
	}
	asmTile(t.form.kind(int(op)), c, a, b, depth, stride, t.rowStep, t.depthStep)
}

// plain is run in Go, for tiles of 2 by 4.
func (t tile[T]) plain(op operation, c, a, b ptr, depth, stride int) {
	if depth == 0 {
		return
	}
	pa, pb := unsafe.Slice((*T)(a), t.rowStep+(depth-1)*t.depthStep+1), unsafe.Slice((*T)(b), 4*depth)
	var s [8]T
	for k := range depth {
		for i := range 2 {
			x := pa[i*t.rowStep+k*t.depthStep]
			row := s[4*i : 4*i+4]
			for j, y := range pb[4*k:][:4] {
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
	}
	out := unsafe.Slice((*T)(c), stride+4)
	for j := range 4 {
		out[j] += s[j]
		out[stride+j] += s[4+j]
	}
}
