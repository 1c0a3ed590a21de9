package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The exponential, eˣ = 2ⁿ·eʳ, r = x − n·ln 2 with ln 2 in two parts.
//
// AVX-512: n is a multiple of 1/16, so |r| ≤ ln 2/32; 2^(n mod 1) comes from a
// table of 16 in registers, and VSCALEF multiplies by 2^⌊n⌋.
// AVX2: n is an integer, |r| ≤ ln 2/2, a longer polynomial for 2·eʳ, and 2ⁿ⁻¹ is
// made of n's bits: zero at the lower end, infinity at the upper, by clamping.
//
// Polynomials: Chebyshev interpolants of (eʳ−1−r)/r², computed with 90 digits.
// Relative error in exact arithmetic: 2.8e-17 and 1.3e-17 (float64), 4.7e-9 and
// 7.8e-9 (float32).
//
// Results under √2 times the smallest normal number are 0: no denormal numbers
// are met or made.
type expTable struct {
	least, most  int // exponents: 2^least is the smallest normal number, 2^most overflows
	ln2Hi, ln2Lo float64
	wide, narrow []float64 // coefficients of r², r³, …
	bits         int       // of the mantissa
}

var exp64 = expTable{
	least: -1022, most: 1024,
	ln2Hi: 0x1.62e42fefa39efp-1, ln2Lo: 0x1.abc9e3b39803fp-56,
	wide: []float64{0.5, 0x1.55555554dd44dp-3, 0x1.55555555194d2p-5, 0x1.11120af701debp-7, 0x1.6c17bb51f236dp-10},
	narrow: []float64{
		0x1.0000000000001p-1, 0x1.5555555555556p-3, 0x1.5555555553d68p-5, 0x1.11111111109b5p-7, 0x1.6c16c17889ef1p-10,
		0x1.a01a01a7c2efep-13, 0x1.a019b9149a41cp-16, 0x1.71de0db2f6b19p-19, 0x1.28917c89a43a7p-22, 0x1.af389ecfc4b9cp-26,
	},
	bits: 52,
}

var exp32 = expTable{
	least: -126, most: 128,
	ln2Hi: 0x1.62e43p-1, ln2Lo: -0x1.05c61p-29,
	wide:   []float64{0x1.000147fde811cp-1, 0x1.55565bb9e8917p-3},
	narrow: []float64{0.5, 0x1.5554dd04e58bep-3, 0x1.55551933893e6p-5, 0x1.120b616c43f75p-7, 0x1.6d10fc65baf1cp-10},
	bits:   23,
}

// An exponential holds the constants of one routine's exponentials: registers
// where there are enough, memory else.
type exponential struct {
	*asm
	tab           expTable
	high          bool // arguments may overflow
	log2e, shift  operand.Op
	ln2Hi, ln2Lo  operand.Op
	lo, hi        operand.Op
	roots, roots2 operand.Op // 2^(i/16) (AVX-512)
}

// exponential prepares the constants; high tells whether arguments may exceed
// the largest whose exponential is finite.
func (a *asm) exponential(high bool) *exponential {
	e := &exponential{asm: a, tab: exp32, high: high}
	if a.double {
		e.tab = exp64
	}
	hold := func(m operand.Mem) operand.Op {
		if a.wide {
			return a.load(m)
		}
		return m
	}
	// Adding 1.5·2^bits leaves the nearest integer in the low bits. The clamps
	// are half a unit away from where n changes.
	if a.wide {
		e.shift = hold(a.constant("expShift16", math.Ldexp(1.5, e.tab.bits-4)))
		e.lo = hold(a.constant("expLo", (float64(e.tab.least)+0.5)*math.Ln2))
	} else {
		e.shift = hold(a.constant("expShift", math.Ldexp(1.5, e.tab.bits)-float64(e.tab.least)))
		e.lo = hold(a.constant("expZero", float64(e.tab.least)*math.Ln2))
	}
	if high {
		e.hi = hold(a.constant("expInf", float64(e.tab.most+1)*math.Ln2))
	}
	e.log2e = hold(a.constant("expLog2e", math.Log2E))
	e.ln2Hi = hold(a.constant("expLn2Hi", e.tab.ln2Hi))
	e.ln2Lo = hold(a.constant("expLn2Lo", e.tab.ln2Lo))
	if a.wide {
		root := func(i int) operand.Constant {
			v := math.Exp2(float64(i) / 16)
			if a.double {
				return operand.U64(math.Float64bits(v))
			}
			return operand.U32(math.Float32bits(float32(v)))
		}
		t := a.vec()
		a.mov(t, a.table("expRoots", root))
		e.roots = t
		if a.double {
			t2 := a.vec()
			a.mov(t2, a.table("expRootsUpper", func(i int) operand.Constant { return root(i + 8) }))
			e.roots2 = t2
		}
	}
	return e
}

// apply replaces each x by its exponential.
func (e *exponential) apply(xs []vec) {
	if e.wide {
		e.applyWide(xs)
	} else {
		e.applyNarrow(xs)
	}
}

const (
	notLess    = 0x15 // comparison that is true for NaN, quiet
	greaterSet = 0x1e // x > y, false for NaN, quiet
)

func (e *exponential) applyWide(xs []vec) {
	a := e.asm
	alive := make([]reg.Register, len(xs))
	for u, x := range xs {
		alive[u] = a.K()
		a.pick(a.VCMPPD, a.VCMPPS)(operand.Imm(notLess), e.lo, x, alive[u])
	}
	if e.high {
		for _, x := range xs {
			a.min(x, e.hi.(vec), x)
		}
	}
	n, s := a.vecs(len(xs)), a.vecs(len(xs))
	for u, x := range xs {
		a.mov(s[u], e.shift)
		a.fma(s[u], x, e.log2e)
	}
	for u := range xs {
		a.sub(n[u], s[u], e.shift)
	}
	for u, x := range xs {
		a.fnma(x, n[u], e.ln2Hi)
	}
	for u, x := range xs {
		a.fnma(x, n[u], e.ln2Lo)
	}
	for _, v := range s { // 2^(n mod 1)
		if a.double {
			a.VPERMI2PD(e.roots2, e.roots, v)
		} else {
			a.VPERMPS(e.roots, v, v)
		}
	}
	// p = r + r²·q(r)
	c := e.tab.wide
	q := a.vecs(len(xs))
	top := len(c) - 1
	for u := range xs {
		a.broadcast(q[u], a.constant(name("expWide", top), c[top]))
	}
	for k := top - 1; k >= 0; k-- {
		for u, x := range xs {
			a.hornerConstant(q[u], x, a.constant(name("expWide", k), c[k]))
		}
	}
	for u, x := range xs {
		a.mul(q[u], q[u], x)
		a.horner(q[u], x, x)
	}
	for u, x := range xs {
		a.horner(q[u], s[u], s[u])
		if a.double {
			a.VSCALEFPD_Z(n[u], q[u], alive[u], x)
		} else {
			a.VSCALEFPS_Z(n[u], q[u], alive[u], x)
		}
	}
}

func (e *exponential) applyNarrow(xs []vec) {
	a := e.asm
	clamp := func(op func(dst, x vec, y operand.Op), m operand.Op) {
		limit := a.vec()
		a.mov(limit, m)
		for _, x := range xs {
			op(x, limit, x)
		}
	}
	clamp(a.max, e.lo)
	if e.high {
		clamp(a.min, e.hi)
	}
	s, n := a.vecs(len(xs)), a.vecs(len(xs))
	for u, x := range xs {
		a.mov(s[u], e.shift)
		a.fma(s[u], x, e.log2e)
	}
	for u, x := range xs {
		a.sub(n[u], s[u], e.shift)
		a.fnma(x, n[u], e.ln2Hi)
	}
	for u, x := range xs {
		a.fnma(x, n[u], e.ln2Lo)
		a.shiftLeft(s[u], s[u], uint64(e.tab.bits)) // 2ⁿ⁻¹
	}
	c := append([]float64{1, 1}, e.tab.narrow...)
	p := a.vecs(len(xs))
	top := len(c) - 1
	for u := range xs {
		a.mov(p[u], a.constant(name("expNarrow", top), 2*c[top]))
	}
	for k := top - 1; k >= 0; k-- {
		t := a.load(a.constant(name("expNarrow", k), 2*c[k]))
		for u, x := range xs {
			a.horner(p[u], x, t)
		}
	}
	for u, x := range xs {
		a.mul(x, p[u], s[u])
	}
}

func name(stem string, k int) string { return stem + string(rune('A'+k)) }

// broadcast fills a register from a constant (AVX-512).
func (a *asm) broadcast(v vec, m operand.Mem) { a.pick(a.VBROADCASTSD, a.VBROADCASTSS)(m, v) }

// hornerConstant is p = p·x + c with c in memory (AVX-512).
func (a *asm) hornerConstant(p, x vec, c operand.Mem) {
	a.pick(a.VFMADD213PD_BCST, a.VFMADD213PS_BCST)(c, x, p)
}

// compare sets the lanes of dst where the predicate holds of x and y (AVX2).
func (a *asm) compare(dst, x vec, predicate uint64, y operand.Op) {
	a.pick(a.VCMPPD, a.VCMPPS)(operand.Imm(predicate), y, x, dst)
}

// unroll is the number of vectors that exponentials are computed of at once:
// what the registers hold.
func (a *asm) unroll() int {
	if a.wide {
		return 4
	}
	return 3
}

func expKernels() []kernel {
	return []kernel{{
		name: "exp",
		doc:  "writes exp(x) to dst.",
		sig:  "dst, x *T, n int",
		emit: func(a *asm) {
			dst, x, n := a.ptr("dst"), a.ptr("x"), a.ptr("n")
			e := a.exponential(true)
			a.stream(n, a.unroll(), func(s span) {
				v := a.read(x, s)
				e.apply(v)
				a.write(dst, s, v)
			})
		},
	}}
}
