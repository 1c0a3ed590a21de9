package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A span is a run of consecutive vectors at element index i; with a mask, one
// vector of which only the first lanes exist.
type span struct {
	i    reg.GPVirtual
	n    int
	mask reg.Register // nil: all lanes
}

// stream walks n elements: spans of unroll vectors, then single vectors, then
// one masked vector for the rest. Nothing is read or written past n.
func (a *asm) stream(n reg.GPVirtual, unroll int, body func(s span)) {
	i := a.GP64()
	a.XORQ(i, i)
	left := a.GP64()
	a.MOVQ(n, left)
	full := func(count int) {
		step := operand.U32(uint32(count * a.lanes()))
		loop, skip := a.label("loop"), a.label("skip")
		a.SUBQ(step, left)
		a.JL(operand.LabelRef(skip))
		a.Label(loop)
		body(span{i: i, n: count})
		a.ADDQ(step, i)
		a.SUBQ(step, left)
		a.JGE(operand.LabelRef(loop))
		a.Label(skip)
		a.ADDQ(step, left)
	}
	full(unroll)
	if unroll > 1 {
		full(1)
	}
	done := a.label("done")
	a.TESTQ(left, left)
	a.JE(operand.LabelRef(done))
	body(span{i: i, n: 1, mask: a.firstLanes(left)})
	a.Label(done)
}

// firstLanes is the mask of the first n lanes, 0 < n < lanes.
func (a *asm) firstLanes(n reg.GPVirtual) reg.Register {
	if a.wide {
		bits, k := a.GP64(), a.K()
		a.MOVQ(operand.I32(-1), bits)
		a.BZHIQ(n, bits, bits)
		a.KMOVW(bits.As32(), k)
		return k
	}
	// A window over ones followed by zeros.
	ones := a.window()
	p, v := a.GP64(), a.vec()
	a.LEAQ(ones.Offset(a.lanes()*a.size()), p)
	neg := a.GP64()
	a.MOVQ(n, neg)
	a.NEGQ(neg)
	a.mov(v, operand.Mem{Base: p, Index: neg, Scale: uint8(a.size())})
	return v
}

// window is 32 bytes of ones, then 32 of zeros.
func (a *asm) window() operand.Mem {
	return a.table("window", func(i int) operand.Constant {
		lane := uint64(0)
		if i*a.size() < 32 {
			lane = ^uint64(0)
		}
		if a.double {
			return operand.U64(lane)
		}
		return operand.U32(uint32(lane))
	})
}

// read loads the vectors of a span; lanes that do not exist are zero.
func (a *asm) read(base reg.Register, s span) []vec {
	out := a.vecs(s.n)
	for u, v := range out {
		a.readOne(v, a.at(base, s.i, u), s.mask)
	}
	return out
}

func (a *asm) readOne(v vec, m operand.Mem, mask reg.Register) {
	switch {
	case mask == nil:
		a.mov(v, m)
	case a.wide && a.double:
		a.VMOVUPD_Z(m, mask, v)
	case a.wide:
		a.VMOVUPS_Z(m, mask, v)
	case a.double:
		a.VMASKMOVPD(m, mask, v)
	default:
		a.VMASKMOVPS(m, mask, v)
	}
}

// readOr is read with fill in the lanes that do not exist.
func (a *asm) readOr(base reg.Register, s span, fill operand.Mem) []vec {
	if s.mask == nil {
		return a.read(base, s)
	}
	v, m := a.load(fill), a.at(base, s.i, 0)
	if a.wide {
		a.pick(a.VMOVUPD, a.VMOVUPS)(m, s.mask, v)
		return []vec{v}
	}
	x := a.vec()
	a.readOne(x, m, s.mask)
	a.blend(v, s.mask, x, v)
	return []vec{v}
}

// blend is yes where mask is set and no elsewhere (AVX2 only).
func (a *asm) blend(dst vec, mask reg.Register, yes, no vec) {
	if a.double {
		a.VBLENDVPD(mask, yes, no, dst)
	} else {
		a.VBLENDVPS(mask, yes, no, dst)
	}
}

// write stores the vectors of a span.
func (a *asm) write(base reg.Register, s span, vs []vec) {
	for u, v := range vs {
		m := a.at(base, s.i, u)
		switch {
		case s.mask == nil:
			a.pick(a.VMOVUPD, a.VMOVUPS)(v, m)
		case a.wide:
			a.pick(a.VMOVUPD, a.VMOVUPS)(v, s.mask, m)
		case a.double:
			a.VMASKMOVPD(v, s.mask, m)
		default:
			a.VMASKMOVPS(v, s.mask, m)
		}
	}
}

// fold combines the vectors pairwise into the first.
func (a *asm) fold(vs []vec, op func(dst, x vec, y operand.Op)) vec {
	for step := 1; step < len(vs); step *= 2 {
		for i := 0; i+step < len(vs); i += 2 * step {
			op(vs[i], vs[i], vs[i+step])
		}
	}
	return vs[0]
}

// across combines the lanes of v into lane 0, halving each time: a fixed order.
func (a *asm) across(v vec, op func(dst, x vec, y operand.Op)) vec {
	t := a.vec()
	fold := func(x, y reg.Register) { op(x.(vec), x.(vec), y) }
	if a.wide {
		a.VEXTRACTF64X4(operand.Imm(1), v, t.AsY())
		fold(v.AsY(), t.AsY())
		a.VEXTRACTF64X2(operand.Imm(1), v.AsY(), t.AsX())
	} else {
		a.VEXTRACTF128(operand.Imm(1), v.AsY(), t.AsX())
	}
	fold(v.AsX(), t.AsX())
	a.VPERMILPD(operand.Imm(1), v.AsX(), t.AsX())
	fold(v.AsX(), t.AsX())
	if !a.double {
		a.VMOVSHDUP(v.AsX(), t.AsX())
		fold(v.AsX(), t.AsX())
	}
	return v
}
