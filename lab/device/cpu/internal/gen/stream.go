package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// A span is a run of consecutive vectors at element index i; with a mask, one
// vector of which only the first lanes exist.
type span struct {
	i    gp
	n    int
	mask register // nil: all lanes
}

// stream walks n elements: spans of unroll vectors, then single vectors, then
// one masked vector for the rest. Nothing is read or written past n.
func (a *asm) stream(n gp, body func(s span)) {
	i := a.GP64()
	a.XORQ(i, i)
	left := a.GP64()
	a.MOVQ(n, left)
	full := func(count int) {
		step := u32(count * a.lanes())
		loop, skip := a.label("loop"), a.label("skip")
		a.SUBQ(step, left)
		a.JL(skip)
		a.Label(loop)
		body(span{i: i, n: count})
		a.ADDQ(step, i)
		a.SUBQ(step, left)
		a.JGE(loop)
		a.Label(skip)
		a.ADDQ(step, left)
	}
	full(a.unroll)
	if a.unroll > 1 {
		full(1)
	}
	done := a.label("done")
	a.TESTQ(left, left)
	a.JE(done)
	body(span{i: i, n: 1, mask: a.firstLanes(left)})
	a.Label(done)
}

// firstLanes is the mask of the first n lanes, 0 < n < lanes.
func (a *asm) firstLanes(n gp) register {
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
	a.mov(v, mem{Base: p, Index: neg, Scale: uint8(a.size())})
	return v
}

// window is 32 bytes of ones, then 32 of zeros.
func (a *asm) window() mem {
	return a.table("window", func(i int) operand.Constant {
		if i*a.size() < 32 {
			return a.mask(math.MaxUint64)
		}
		return a.mask(0)
	})
}

// read loads the vectors of a span; lanes that do not exist are zero.
func (a *asm) read(base register, s span) []vec {
	out := a.vecs(s.n)
	for u, v := range out {
		a.readOne(v, a.at(base, s.i, u), s.mask)
	}
	return out
}

func (a *asm) readOne(v vec, m mem, mask register) {
	switch {
	case mask == nil:
		a.mov(v, m)
	case a.wide:
		a.op("VMOVUP*_Z", m, mask, v)
	default:
		a.op("VMASKMOVP*", m, mask, v)
	}
}

// readOr is read with fill in the lanes that do not exist.
func (a *asm) readOr(base register, s span, fill mem) []vec {
	if s.mask == nil {
		return a.read(base, s)
	}
	v, m := a.load(fill), a.at(base, s.i, 0)
	if a.wide {
		a.op("VMOVUP*", m, s.mask, v)
		return []vec{v}
	}
	x := a.vec()
	a.readOne(x, m, s.mask)
	a.blend(v, s.mask, x, v)
	return []vec{v}
}

// blend is yes where mask is set and no elsewhere (AVX2 only).
func (a *asm) blend(dst vec, mask register, yes, no vec) {
	a.op("VBLENDVP*", mask, yes, no, dst)
}

// write stores the vectors of a span.
func (a *asm) write(base register, s span, vs []vec) {
	for u, v := range vs {
		m := a.at(base, s.i, u)
		switch {
		case s.mask == nil:
			a.op("VMOVUP*", v, m)
		case a.wide:
			a.op("VMOVUP*", v, s.mask, m)
		default:
			a.op("VMASKMOVP*", v, s.mask, m)
		}
	}
}

// fold combines the vectors pairwise into the first.
func (a *asm) fold(vs []vec, op combination) vec {
	for step := 1; step < len(vs); step *= 2 {
		for i := 0; i+step < len(vs); i += 2 * step {
			op(vs[i], vs[i], vs[i+step])
		}
	}
	return vs[0]
}

// resultOf writes what becomes of all lanes of the vectors to a result.
func (a *asm) resultOf(i int, vs []vec, op combination) { a.result(i, a.across(a.fold(vs, op), op)) }

// accumulate adds vectors to sums, in turn.
func (a *asm) accumulate(sums, vs []vec) {
	for u, v := range vs {
		a.add(sums[u%len(sums)], sums[u%len(sums)], v)
	}
}

// across combines the lanes of v into lane 0, halving each time: a fixed order.
func (a *asm) across(v vec, op combination) vec {
	t := a.vec()
	fold := func(x, y register) { op(x.(vec), x.(vec), y) }
	if a.wide {
		a.VEXTRACTF64X4(imm(1), v, t.AsY())
		fold(v.AsY(), t.AsY())
		a.VEXTRACTF64X2(imm(1), v.AsY(), t.AsX())
	} else {
		a.VEXTRACTF128(imm(1), v.AsY(), t.AsX())
	}
	fold(v.AsX(), t.AsX())
	a.VPERMILPD(imm(1), v.AsX(), t.AsX())
	fold(v.AsX(), t.AsX())
	if !a.double {
		a.VMOVSHDUP(v.AsX(), t.AsX())
		fold(v.AsX(), t.AsX())
	}
	return v
}
