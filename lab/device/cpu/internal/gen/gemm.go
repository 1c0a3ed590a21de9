package main

import (
	"math/bits"
)

// The inner loops of matrix products: a tile of C, held in registers, of rows
// tall (12 with AVX-512, 6 with AVX2) and two vectors wide. B is packed: for each
// k the tile's elements lie side by side. Element (i, k) of A is at
// a[i*rowStep + k*depthStep].
func gemmKernels() []kernel {
	const sig = "(c, a, b *T, depth, stride, rowStep, depthStep int)"
	return []kernel{
		{
			decl: "tileMul" + sig, doc: "adds the product of packed a and b to a tile of c.", of: "tile",
			emit: func(a *asm) {
				a.tile(func(sum, x, y vec) { a.fma(sum, x, y) })
			},
		},
		{
			decl: "tileSquare" + sig, doc: "adds the sums over k of (a-b)² to a tile of c.", of: "tile",
			emit: func(a *asm) {
				a.tile(func(sum, x, y vec) {
					d := a.vec()
					a.sub(d, x, y)
					a.fma(sum, d, d)
				})
			},
		},
		{
			decl: "tileAbs" + sig, doc: "adds the sums over k of |a-b| to a tile of c.", of: "tile",
			emit: func(a *asm) {
				a.tile(func(sum, x, y vec) {
					d := a.vec()
					a.sub(d, x, y)
					a.and(d, d, a.absMask())
					a.add(sum, sum, d)
				})
			},
		},
	}
}

// tileHeight is the number of rows of a tile.
func (t target) tileHeight() int {
	if t.wide {
		return 12
	}
	return 6
}

const tileVectors = 2

func (a *asm) tile(step func(sum, x, y vec)) {
	c, pa, pb, depth, stride := a.ptr("c"), a.ptr("a"), a.ptr("b"), a.ptr("depth"), a.ptr("stride")
	rowStep, depthStep := a.bytes("rowStep"), a.bytes("depthStep")
	height := a.tileHeight()
	sums := make([][]vec, height)
	for i := range sums {
		sums[i] = a.zeros(tileVectors)
	}
	// A pointer for each three rows: x86 addresses reach the other two.
	bases := []gp{pa}
	for range height/3 - 1 {
		next := a.GP64()
		a.LEAQ(mem{Base: bases[len(bases)-1], Index: rowStep, Scale: 2}, next)
		a.ADDQ(rowStep, next)
		bases = append(bases, next)
	}
	row := func(i int) mem {
		if i%3 == 0 {
			return mem{Base: bases[i/3]}
		}
		return mem{Base: bases[i/3], Index: rowStep, Scale: uint8(i % 3)}
	}
	vectorBytes := a.lanes() * a.size()
	once := func() {
		y := a.vecs(tileVectors)
		for j, v := range y {
			a.mov(v, mem{Base: pb, Disp: j * vectorBytes})
		}
		for i := range sums {
			x := a.vec()
			a.broadcastAny(x, row(i))
			for j, v := range y {
				step(sums[i][j], x, v)
			}
		}
		for _, p := range bases {
			a.ADDQ(depthStep, p)
		}
		a.ADDQ(u32(tileVectors*vectorBytes), pb)
	}
	ahead := a.GP64()
	a.MOVQ(c, ahead)
	fetch := func() {
		for j := range tileVectors * vectorBytes / 64 {
			a.PREFETCHT0(mem{Base: ahead, Disp: 64 * j})
		}
		a.LEAQ(mem{Base: ahead, Index: stride, Scale: uint8(a.size())}, ahead)
	}
	a.depths(depth, height, fetch, once)
	for i := range sums {
		for j, v := range sums[i] {
			m := mem{Base: c, Disp: j * vectorBytes}
			a.add(v, v, m)
			a.op("VMOVUP*", v, m)
		}
		if i < height-1 {
			a.LEAQ(mem{Base: c, Index: stride, Scale: uint8(a.size())}, c)
		}
	}
}

// depths does once for each depth. The tile of C comes from far away: fetch asks for one of its
// rows at a time, evenly over the loop, since all at once would hold up the loads of A. With AVX2 a
// turn of the loop is four depths: the decoders would be as busy as the multipliers in one of a
// single depth.
func (a *asm) depths(depth gp, height int, fetch, once func()) {
	unroll, rest := 1, depth
	if !a.wide {
		unroll, rest = 4, a.GP64()
		a.MOVQ(depth, rest)
		a.ANDQ(imm(3), rest)
		a.SHRQ(imm(2), depth)
	}
	some, left := a.GP64(), a.GP64()
	a.MOVQ(depth, some)
	a.SHRQ(imm(uint64(bits.Len(uint(height)))), some)
	a.INCQ(some)
	loop, rows, done := a.label("depth"), a.label("rows"), a.label("depths")
	a.TESTQ(depth, depth)
	a.JE(done)
	a.Label(rows)
	fetch()
	a.MOVQ(some, left)
	a.CMPQ(left, depth)
	a.CMOVQGT(depth, left)
	a.SUBQ(left, depth)
	a.Label(loop)
	for range unroll {
		once()
	}
	a.DECQ(left)
	a.JNZ(loop)
	a.TESTQ(depth, depth)
	a.JNZ(rows)
	a.Label(done)
	if unroll == 1 {
		return
	}
	one, end := a.label("one"), a.label("end")
	a.TESTQ(rest, rest)
	a.JE(end)
	a.Label(one)
	once()
	a.DECQ(rest)
	a.JNZ(one)
	a.Label(end)
}

// bytes is a parameter that counts elements, in bytes.
func (a *asm) bytes(name string) gp {
	r := a.ptr(name)
	a.SHLQ(imm(map[bool]uint64{true: 3, false: 2}[a.double]), r)
	return r
}
