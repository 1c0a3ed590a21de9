package main

import "github.com/mmcloughlin/avo/operand"

// The inner loops of matrix products: a tile of C, held in registers, of rows
// tall (12 with AVX-512, 6 with AVX2) and two vectors wide. A and B are packed:
// for each k the tile's elements of A lie side by side, and those of B.
func gemmKernels() []kernel {
	const sig = "c, a, b *T, depth, stride int"
	return []kernel{
		{
			name: "tileMul", doc: "adds the product of packed a and b to a tile of c.", sig: sig,
			emit: func(a *asm) {
				a.tile(func(sum, x, y vec) { a.fma(sum, x, y) })
			},
		},
		{
			name: "tileSquare", doc: "adds the sums over k of (a-b)² to a tile of c.", sig: sig,
			emit: func(a *asm) {
				a.tile(func(sum, x, y vec) {
					d := a.vec()
					a.sub(d, x, y)
					a.fma(sum, d, d)
				})
			},
		},
		{
			name: "tileAbs", doc: "adds the sums over k of |a-b| to a tile of c.", sig: sig,
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
	height := a.tileHeight()
	sums := make([][]vec, height)
	for i := range sums {
		sums[i] = a.zeros(tileVectors)
	}
	bytes := a.lanes() * a.size()
	loop, done := a.label("depth"), a.label("depths")
	a.TESTQ(depth, depth)
	a.JE(operand.LabelRef(done))
	a.Label(loop)
	y := a.vecs(tileVectors)
	for j, v := range y {
		a.mov(v, operand.Mem{Base: pb, Disp: j * bytes})
	}
	for i := range sums {
		x := a.vec()
		a.broadcastAny(x, operand.Mem{Base: pa, Disp: i * a.size()})
		for j, v := range y {
			step(sums[i][j], x, v)
		}
	}
	a.ADDQ(operand.U32(uint32(height*a.size())), pa)
	a.ADDQ(operand.U32(uint32(tileVectors*bytes)), pb)
	a.DECQ(depth)
	a.JNZ(operand.LabelRef(loop))
	a.Label(done)
	for i := range sums {
		for j, v := range sums[i] {
			m := operand.Mem{Base: c, Disp: j * bytes}
			a.add(v, v, m)
			a.mov2mem(m, v)
		}
		if i < height-1 {
			a.LEAQ(operand.Mem{Base: c, Index: stride, Scale: uint8(a.size())}, c)
		}
	}
}

// mov2mem stores a whole vector.
func (a *asm) mov2mem(m operand.Mem, v vec) { a.pick(a.VMOVUPD, a.VMOVUPS)(v, m) }
