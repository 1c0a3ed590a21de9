package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// The exponential, eˣ = 2ⁿ·2^r with r = x·log₂e − n rounded once.
//
// AVX-512: n is a multiple of 1/16, so |r| ≤ 1/32, and 2^(n mod 1) comes from a
// table of 16 in registers. AVX2: n is an integer, |r| ≤ ½, and the polynomial
// is longer. Either way n is found by adding 1.5·2^bits, which leaves it in the
// low bits, from where it goes to the exponent's bits.
//
// Polynomials: Chebyshev interpolants of (2^r−1)/r, computed with 90 digits;
// relative error in exact arithmetic 1.4e-17 and 6e-18 (float64), 2.3e-9 and
// 3.9e-9 (float32).
//
// A plain exponential takes log₂e rounded, which costs |x|·1.4e-17 (float32:
// |x|·1.3e-8), less than the rounding of x that came before it. An exact one
// adds the rest of log₂e and is right up to the largest number.
//
// Results under √2 times the smallest normal number are 0: no denormal numbers
// are met or made.
type expTable struct {
	least, most  int // exponents: 2^least is the smallest normal number, 2^most overflows
	bits         int // of the mantissa
	log2e, rest  float64
	wide, narrow []float64 // coefficients of r, r², …
}

var exp64 = expTable{
	least: -1022, most: 1024, bits: 52,
	log2e: 0x1.71547652b82fep+0, rest: 0x1.777d0ffda0d24p-56,
	wide: []float64{
		0x1.62e42fefa39f3p-1, 0x1.ebfbdff82c590p-3, 0x1.c6b08d6f2a289p-5, 0x1.3b2ab6fb41213p-7,
		0x1.5d897e525c216p-10, 0x1.430a1d08ec681p-13,
	},
	narrow: []float64{
		0x1.62e42fefa39efp-1, 0x1.ebfbdff82c598p-3, 0x1.c6b08d704a0c2p-5, 0x1.3b2ab6fba1ddap-7,
		0x1.5d87fe78a5276p-10, 0x1.430913096fd9fp-13, 0x1.ffcbfc670dcd4p-17, 0x1.62bfd47773353p-20,
		0x1.b524fae627834p-24, 0x1.e6063f7217bc6p-28, 0x1.e9d3fe3952179p-32,
	},
}

var exp32 = expTable{
	least: -126, most: 128, bits: 23,
	log2e: 0x1.715476p+0, rest: 0x1.4ae0cp-26,
	wide: []float64{0x1.62e42fefa39efp-1, 0x1.ebff917b28217p-3, 0x1.c6b299bd67a41p-5},
	narrow: []float64{
		0x1.62e4302fc626ep-1, 0x1.ebfbe00e63baep-3, 0x1.c6af6cdbbdcc7p-5, 0x1.3b2a53045179ap-7,
		0x1.5f0890162a90ap-10, 0x1.4413896e1ad27p-13,
	},
}

// An exponential holds the constants of one routine's exponentials: in
// registers where there are enough, in memory else.
type exponential struct {
	*asm
	expTable
	grade         grade
	log2e, shift  input
	rest          input
	lo, hi        input
	roots, roots2 input // 2^(i/16) (AVX-512)
}

// A grade is how much an exponential can do.
type grade int

const (
	low   grade = iota // arguments that cannot overflow
	plain              // any argument; large ones are taken as the largest allowed
	exact              // any argument, infinite results, the rest of log₂e
)

func (a *asm) exponential(g grade) *exponential {
	e := &exponential{asm: a, expTable: exp32, grade: g}
	if a.double {
		e.expTable = exp64
	}
	// Limits lie half a step away from where n changes.
	exponent := func(n float64) float64 { return n * math.Ln2 }
	least, most := float64(e.least), float64(e.most)
	switch {
	case a.wide:
		e.shift = a.hold("expShift16", math.Ldexp(1.5, e.bits-4))
		e.lo = a.hold("expLo", exponent(least+0.5))
		if g == plain {
			e.hi = a.hold("expLargest", exponent(most-0.05))
		}
		e.roots, e.roots2 = e.table16()
	default:
		e.shift = a.hold("expShift", math.Ldexp(1.5, e.bits)-least)
		e.lo = a.hold("expZero", exponent(least))
	}
	if g != low && e.hi == nil {
		e.hi = a.hold("expInf", exponent(most+1))
	}
	e.log2e = a.hold("expLog2e", e.expTable.log2e)
	if g == exact {
		e.rest = a.hold("expLog2eRest", e.expTable.rest)
	}
	return e
}

// table16 loads 2^(i/16), i = 0…15, in one register or two.
func (e *exponential) table16() (lower, upper input) {
	a, stem := e.asm, "expRoots"
	load := func(name string, from int) input {
		t := a.vec()
		a.mov(t, a.table(name, func(i int) operand.Constant { return a.float(math.Exp2(float64(i+from) / 16)) }))
		return t
	}
	lower = load(stem, 0)
	if a.double {
		upper = load(stem+"Upper", 8)
	}
	return lower, upper
}

// apply replaces each x by its exponential.
func (e *exponential) apply(xs []vec) {
	if e.asm.wide {
		e.applyWide(xs)
	} else {
		e.applyNarrow(xs)
	}
}

const (
	notLess    = 0x15 // comparison that is true for NaN, quiet
	greaterSet = 0x1e // x > y, false for NaN, quiet
)

// split makes n, in its own right and as the low bits of s, and replaces each x
// by r. It returns s and n.
func (e *exponential) split(xs []vec) (s, n []vec) {
	a := e.asm
	s, n = a.vecs(len(xs)), a.vecs(len(xs))
	for u, x := range xs {
		a.mov(s[u], e.shift)
		a.fma(s[u], x, e.log2e)
	}
	for u := range xs {
		a.sub(n[u], s[u], e.shift)
	}
	if e.grade == exact {
		for u, x := range xs {
			t := a.vec()
			a.mov(t, x)
			a.lessFrom(x, e.log2e, n[u])
			a.fma(x, t, e.rest)
		}
		return s, n
	}
	for u, x := range xs {
		a.lessFrom(x, e.log2e, n[u])
	}
	return s, n
}

// lessFrom is x = x·y − z.
func (a *asm) lessFrom(x vec, y input, z vec) {
	if m, ok := y.(mem); ok {
		a.op("VFMSUB132P*", m, z, x)
		return
	}
	a.op("VFMSUB213P*", z, y, x)
}

func (e *exponential) applyWide(xs []vec) {
	a := e.asm
	alive := make([]register, len(xs))
	for u, x := range xs {
		alive[u] = a.K()
		a.op("VCMPP*", imm(notLess), e.lo, x, alive[u])
	}
	if e.hi != nil {
		for _, x := range xs {
			a.min(x, e.hi.(vec), x)
		}
	}
	s, n := e.split(xs)
	q := a.vecs(len(xs))
	for u := range s {
		if a.double {
			a.VPERMI2PD(e.roots2, e.roots, s[u])
		} else {
			a.VPERMPS(e.roots, s[u], s[u])
		}
	}
	c := e.expTable.wide
	top := len(c) - 1
	for u := range xs {
		a.broadcastAny(q[u], a.constant(name("expWide", top), c[top]))
	}
	for k := top - 1; k >= 0; k-- {
		for u, x := range xs {
			a.op("VFMADD213P*_BCST", a.constant(name("expWide", k), c[k]), x, q[u])
		}
	}
	for u, x := range xs {
		a.mul(x, x, s[u])
	}
	// Only the last step scales by 2ⁿ: a product with it before might be denormal, which takes Intel's processors over
	// a hundred cycles.
	for u, x := range xs {
		a.horner(q[u], x, s[u])
		a.op("VSCALEFP*_Z", n[u], q[u], alive[u], x)
	}
}

func (e *exponential) applyNarrow(xs []vec) {
	a := e.asm
	clamp := func(op combination, m input) {
		limit := a.vec()
		a.mov(limit, m)
		for _, x := range xs {
			op(x, limit, x)
		}
	}
	clamp(a.max, e.lo)
	if e.hi != nil {
		clamp(a.min, e.hi)
	}
	s, _ := e.split(xs)
	for _, v := range s {
		a.shiftLeft(v, v, uint64(e.bits)) // 2ⁿ⁻¹: zero at the lower end, infinity at the upper
	}
	// 2·2^r
	c := append([]float64{1}, e.expTable.narrow...)
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

// compare sets the lanes of dst where the predicate holds of x and y (AVX2).
func (a *asm) compare(dst, x vec, predicate uint64, y input) {
	a.op("VCMPP*", imm(predicate), y, x, dst)
}

func expKernels() []kernel {
	return []kernel{{
		decl: "exp(dst, x *T, n int)",
		doc:  "writes exp(x) to dst.",
		emit: func(a *asm) {
			dst, x, n := a.ptr("dst"), a.ptr("x"), a.ptr("n")
			e := a.exponential(exact)
			a.stream(n, func(s span) {
				v := a.read(x, s)
				e.apply(v)
				a.write(dst, s, v)
			})
		},
	}}
}
