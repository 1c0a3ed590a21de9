package main

import (
	"slices"
)

// The inner loops of convolutions: sums over the taps of a window, for groups of four pixels and one or more vectors of
// channels, read from the image as it lies. For each k, the elements a[groups[g] + i*step], i < 4, meet the row of b of
// that k, and a moves on by steps[k] bytes. Where held is 0, c is written and not read.
func tapKernels() []kernel {
	const sig = "(c, a, b *T, groups, steps *int, depth, step, held int)"
	return []kernel{
		{
			decl: "tapsTall" + sig, doc: "adds sums over taps to groups of rows of one vector.", of: "taps",
			emit: func(a *asm) { a.taps(a.tallGroups(), 1) },
		},
		{
			decl: "tapsThree" + sig, doc: "is tapsTall for three groups.", of: "taps", wide: true,
			emit: func(a *asm) { a.taps(3, 1) },
		},
		{
			decl: "tapsPair" + sig, doc: "is tapsTall for two groups.", of: "taps",
			emit: func(a *asm) { a.taps(2, 1) },
		},
		{
			decl: "tapsWide" + sig, doc: "adds sums over taps to groups of wide rows.", of: "taps",
			emit: func(a *asm) { a.taps(a.tallGroups()/2, a.wideVectors()) },
		},
		{
			decl: "tapsFew" + sig, doc: "adds sums over taps to few groups of rows of two vectors.", of: "taps",
			emit: func(a *asm) { a.taps((a.tallGroups()/2+1)/2, 2) },
		},
		{
			decl: "transposeStrip(dst, src *T, dstStride, srcStride, dstMove, srcMove, blocks int)",
			doc:  "writes squares of eight (float64: four) rows of src as columns of dst.", emit: transposeStrip,
		},
		{
			decl: "copyRows(dst, src *T, dstStride, srcStride, rows, n int)",
			doc:  "copies rows of n elements.",
			emit: copyRows,
		},
	}
}

func (t target) tallGroups() int {
	if t.wide {
		return 6
	}
	return 3
}

func (t target) wideVectors() int {
	if t.wide {
		return 2
	}
	return 3
}

func (a *asm) taps(groups, vectors int) {
	base, pb, table, steps, depth, step := a.ptr("a"), a.ptr("b"), a.ptr("groups"), a.ptr("steps"), a.ptr("depth"),
		a.bytes("step")
	rows := make([][4]mem, groups)
	thrice := a.GP64()
	a.LEAQ(mem{Base: step, Index: step, Scale: 2}, thrice)
	pointers := make([]gp, groups)
	for g := range pointers {
		p := a.GP64()
		a.MOVQ(mem{Base: table, Disp: 8 * g}, p)
		a.LEAQ(mem{Base: base, Index: p, Scale: uint8(a.size())}, p)
		pointers[g] = p
		rows[g] = [4]mem{{Base: p}, {Base: p, Index: step, Scale: 1}, {Base: p, Index: step, Scale: 2},
			{Base: p, Index: thrice, Scale: 1}}
	}
	sums := make([][]vec, 4*groups)
	for i := range sums {
		sums[i] = a.zeros(vectors)
	}
	loop, done := a.label("taps"), a.label("tapsDone")
	move := a.GP64()
	some := func(taps int) {
		for t := range taps {
			a.MOVQ(mem{Base: steps, Disp: 8 * t}, move) // first: the addresses of the next tap wait for it
			a.tapsOnce(sums, rows, mem{Base: pb, Disp: t * vectors * a.lanes() * a.size()})
			for _, p := range pointers {
				a.ADDQ(move, p)
			}
		}
		a.ADDQ(u32(taps*vectors*a.lanes()*a.size()), pb)
		a.ADDQ(imm(uint64(8*taps)), steps)
	}
	turn := 1
	if !a.wide { // two taps a turn: the decoders have as much to do as the multipliers
		turn = 2
		even := a.label("tapsEven")
		a.SHRQ(imm(1), depth)
		a.JCC(even)
		some(1)
		a.Label(even)
	}
	a.TESTQ(depth, depth)
	a.JE(done)
	a.Label(loop)
	some(turn)
	a.DECQ(depth)
	a.JNZ(loop)
	a.Label(done)
	c, held, store := a.ptr("c"), a.ptr("held"), a.label("store")
	each := func(do func(v vec, m mem)) {
		for i, v := range slices.Concat(sums...) {
			do(v, mem{Base: c, Disp: i * a.lanes() * a.size()})
		}
	}
	a.TESTQ(held, held)
	a.JE(store)
	each(func(v vec, m mem) { a.add(v, v, m) })
	a.Label(store)
	each(func(v vec, m mem) { a.op("VMOVUP*", v, m) })
}

// tapsOnce is the products of one tap with a row of b.
func (a *asm) tapsOnce(sums [][]vec, rows [][4]mem, b mem) {
	y := a.vecs(len(sums[0]))
	for j, v := range y {
		a.mov(v, b.Offset(j*a.lanes()*a.size()))
	}
	for i, row := range sums {
		m := rows[i/4][i%4]
		if a.wide && len(y) == 1 {
			a.op("VFMADD231P*_BCST", m, y[0], row[0])
			continue
		}
		x := a.vec()
		a.broadcastAny(x, m)
		for j, v := range y {
			a.fma(row[j], x, v)
		}
	}
}

// transposeStrip turns squares of eight float32 or four float64, in vectors of 256 bits on every target.
func transposeStrip(a *asm) {
	dst, src, dstStride, srcStride, blocks := a.ptr("dst"), a.ptr("src"), a.bytes("dstStride"), a.bytes("srcStride"),
		a.ptr("blocks")
	side := 32 / a.size()
	from, to := a.squareRows(src, srcStride, side), a.squareRows(dst, dstStride, side)
	dstMove, srcMove := a.bytes("dstMove"), a.bytes("srcMove")
	loop, done := a.label("squares"), a.label("squaresDone")
	a.TESTQ(blocks, blocks)
	a.JE(done)
	a.Label(loop)
	r := make([]vec, side)
	for i := range r {
		r[i] = a.YMM()
		a.VMOVUPS(from[i], r[i])
	}
	if a.double {
		r = a.turn4(r)
	} else {
		r = a.turn8(r)
	}
	for i, v := range r {
		a.VMOVUPS(v, to[i])
	}
	for i := 0; i < side; i += 4 {
		a.ADDQ(srcMove, from[i].Base)
		a.ADDQ(dstMove, to[i].Base)
	}
	a.DECQ(blocks)
	a.JNZ(loop)
	a.Label(done)
}

// squareRows is the addresses of rows, four from each pointer.
func (a *asm) squareRows(base, stride gp, rows int) []mem {
	thrice := a.GP64()
	a.LEAQ(mem{Base: stride, Index: stride, Scale: 2}, thrice)
	var out []mem
	for i := 0; i < rows; i += 4 {
		p := a.GP64()
		if i == 0 {
			a.MOVQ(base, p)
		} else {
			a.LEAQ(mem{Base: base, Index: stride, Scale: 4}, p)
		}
		out = append(out, mem{Base: p}, mem{Base: p, Index: stride, Scale: 1},
			mem{Base: p, Index: stride, Scale: 2}, mem{Base: p, Index: thrice, Scale: 1})
	}
	return out
}

func (a *asm) turn8(r []vec) []vec {
	t, u, out := make([]vec, 8), make([]vec, 8), make([]vec, 8)
	for i := range 8 {
		t[i], u[i], out[i] = a.YMM(), a.YMM(), a.YMM()
	}
	for i := 0; i < 8; i += 2 {
		a.VUNPCKLPS(r[i+1], r[i], t[i])
		a.VUNPCKHPS(r[i+1], r[i], t[i+1])
	}
	for i := 0; i < 8; i += 4 { // the columns i … i+3 of each half
		for j := range 2 {
			a.VSHUFPS(imm(0x44), t[i+j+2], t[i+j], u[i+2*j])
			a.VSHUFPS(imm(0xee), t[i+j+2], t[i+j], u[i+2*j+1])
		}
	}
	for i := range 4 {
		a.VPERM2F128(imm(0x20), u[i+4], u[i], out[i])
		a.VPERM2F128(imm(0x31), u[i+4], u[i], out[i+4])
	}
	return out
}

func (a *asm) turn4(r []vec) []vec {
	t, out := make([]vec, 4), make([]vec, 4)
	for i := range 4 {
		t[i], out[i] = a.YMM(), a.YMM()
	}
	for i := 0; i < 4; i += 2 {
		a.VUNPCKLPD(r[i+1], r[i], t[i])
		a.VUNPCKHPD(r[i+1], r[i], t[i+1])
	}
	for i := range 2 {
		a.VPERM2F128(imm(0x20), t[i+2], t[i], out[i])
		a.VPERM2F128(imm(0x31), t[i+2], t[i], out[i+2])
	}
	return out
}

func copyRows(a *asm) {
	dst, src, dstStride, srcStride, rows, n := a.ptr("dst"), a.ptr("src"), a.bytes("dstStride"), a.bytes("srcStride"),
		a.ptr("rows"), a.ptr("n")
	loop, done := a.label("rows"), a.label("rowsDone")
	a.TESTQ(rows, rows)
	a.JE(done)
	a.Label(loop)
	a.unroll = 4
	a.stream(n, func(s span) { a.write(dst, s, a.read(src, s)) })
	a.ADDQ(dstStride, dst)
	a.ADDQ(srcStride, src)
	a.DECQ(rows)
	a.JNZ(loop)
	a.Label(done)
}
