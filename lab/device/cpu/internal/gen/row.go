package main

import (
	"math"
	"strings"

	"github.com/mmcloughlin/avo/operand"
)

// A source is where the arguments of a row of exponentials come from.
type source struct {
	name, doc string
	of        string // the beginning of the names of the functions that choose kernels
	sig       string
	// open loads parameters; the function it returns emits one span of
	// arguments, −Inf in lanes that do not exist.
	open    func(a *asm) func(s span) []vec
	shifted bool // the arguments are shifted already
}

func sources() []source {
	all := []source{
		{
			name: "plain",
			of:   "plain",
			doc:  "x",
			sig:  "x *T, n int",
			open: func(a *asm) func(span) []vec {
				x := a.ptr("x")
				return func(s span) []vec { return a.readOr(x, s, a.minusInf()) }
			},
		},
		{
			name: "dense",
			of:   "dense",
			doc:  "h - inv*c",
			sig:  "h, c *T, n int, inv T",
			open: func(a *asm) func(span) []vec {
				h, c, inv := a.ptr("h"), a.ptr("c"), a.scalar("inv")
				return func(s span) []vec {
					if a.ahead {
						a.fetchAhead(c, s)
					}
					x, cost := a.readOr(h, s, a.minusInf()), a.read(c, s)
					for u, v := range x {
						a.fnma(v, cost[u], inv)
					}
					return x
				}
			},
		},
	}
	for _, c := range pointCosts {
		all = append(all, points(c.name, c.doc, c.term))
	}
	return all
}

// scaled is the source shifted and multiplied by a parameter.
func (s source) scaled() source {
	open := s.open
	s.open = func(a *asm) func(span) []vec {
		args, shift, scale := open(a), a.scalar("shift"), a.scalar("scale")
		return func(s span) []vec {
			x := args(s)
			for _, v := range x {
				a.sub(v, v, shift)
				a.mul(v, v, scale)
			}
			return x
		}
	}
	s.shifted = true
	return s
}

// fetchAhead asks for the cache lines of an array that come one page after a
// span: rows of a matrix lie one after the other, and the processor's own
// prefetching stops where a page ends.
func (a *asm) fetchAhead(base register, s span) {
	if s.n == 1 {
		return
	}
	for line := 0; line < s.n*a.lanes()*a.size(); line += 64 {
		m := a.at(base, s.i, 0)
		m.Disp += line + 4096
		a.PREFETCHT0(m)
	}
}

func (a *asm) minusInf() mem { return a.constant("minusInf", math.Inf(-1)) }

// A term adds to sum what the coordinate difference d costs.
type term func(a *asm, sum, d vec, mix vec)

func squareTerm(a *asm, sum, d, _ vec) { a.fma(sum, d, d) }

func manhattanTerm(a *asm, sum, d, _ vec) {
	a.and(d, d, a.absMask())
	a.add(sum, sum, d)
}

func mixedTerm(a *asm, sum, d, mix vec) {
	a.and(d, d, a.absMask())
	t := a.vec()
	a.add(t, d, mix)
	a.fma(sum, t, d)
}

// absMask is all bits but the sign.
func (a *asm) absMask() input {
	return a.table("absMask", func(int) operand.Constant { return a.mask(math.MaxInt64) })
}

const pointsSig = "h, y, x *T, n, stride, dim int, mix, inv T"

// pointCosts are the costs between points, by the number that package cpu has for them.
var pointCosts = []struct {
	name, doc string
	term      term
}{
	{"square", "|x-y|²", squareTerm},
	{"manhattan", "|x-y|₁", manhattanTerm},
	{"mixed", "(|x-y|² + mix*|x-y|₁)", mixedTerm},
}

func points(name, doc string, cost term) source {
	return source{name: name, of: "point", doc: "h - inv*" + doc, sig: pointsSig, open: func(a *asm) func(span) []vec {
		h, costs, inv := a.ptr("h"), a.pointCosts(cost), a.scalar("inv")
		return func(s span) []vec {
			c := costs(s)
			x := a.readOr(h, s, a.minusInf())
			for u, v := range x {
				a.fnma(v, c[u], inv)
			}
			return x
		}
	}}
}

// pointCosts emits the costs between the point x and a span of the points y,
// stored coordinate after coordinate, stride elements apart.
func (a *asm) pointCosts(cost term) func(span) []vec {
	y, x, stride, dim, mix := a.ptr("y"), a.ptr("x"), a.bytes("stride"), a.ptr("dim"), a.scalar("mix")
	return func(s span) []vec {
		sum := a.zeros(s.n)
		column, k := a.GP64(), a.GP64()
		a.LEAQ(a.at(y, s.i, 0), column)
		a.XORQ(k, k)
		loop, done := a.label("coordinate"), a.label("coordinates")
		a.Label(loop)
		a.CMPQ(k, dim)
		a.JGE(done)
		xk := a.vec()
		a.broadcastAny(xk, mem{Base: x, Index: k, Scale: uint8(a.size())})
		for u, v := range sum {
			d, m := a.vec(), mem{Base: column, Disp: u * a.lanes() * a.size()}
			if s.mask == nil {
				a.sub(d, xk, m)
			} else {
				a.readOne(d, m, s.mask)
				a.sub(d, xk, d)
			}
			cost(a, v, d, mix)
		}
		a.ADDQ(stride, column)
		a.INCQ(k)
		a.JMP(loop)
		a.Label(done)
		return sum
	}
}

// broadcastAny fills a register from one element in memory.
func (a *asm) broadcastAny(v vec, m mem) {
	a.op("VBROADCASTS*", m, v)
}

// rowKernels: what is done with each source's arguments. Of points, where the
// cost is computed, only what reads it once.
func rowKernels() []kernel {
	var ks []kernel
	for _, s := range sources() {
		points := s.sig == pointsSig
		if !points {
			ks = append(
				ks,
				kernel{
					decl: s.name + "Max(" + s.sig + ") (top T)",
					doc:  "returns the largest of " + s.doc + ", ignoring NaN.",
					emit: func(a *asm) { a.rowMax(s, false) },
				},
				kernel{
					decl: s.name + "ExpScaled(dst, " + s.sig + ", shift, scale T) (sum T)",
					doc:  "writes exp((" + s.doc + " - shift)*scale) to dst and returns the sum.",
					emit: func(a *asm) { a.rowExp(s.scaled()) },
				},
			)
		}
		ks = append(
			ks,
			kernel{
				decl: s.name + "Exp(dst, " + s.sig + ", shift T) (sum T)", of: s.of + "Exp",
				doc:  "writes exp(" + s.doc + " - shift) to dst and returns the sum.",
				emit: func(a *asm) { a.rowExp(s) },
			},
			kernel{
				decl: s.name + "LSE(" + s.sig + ", start T) (shift, sum T)", of: s.of + "LSE",
				doc:  "returns shift and sum of exp(" + s.doc + " - shift) in one pass.",
				emit: func(a *asm) { a.rowLSE(s) },
			},
		)
		if s.name != "plain" {
			ks = append(ks, kernel{
				decl: s.name + "Logits(dst, " + s.sig + ") (top T)", of: s.of + "Logits",
				doc:  "writes " + s.doc + " to dst and returns the largest, ignoring NaN.",
				emit: func(a *asm) { a.rowMax(s, true) },
			})
		}
	}
	for _, c := range pointCosts {
		ks = append(ks, kernel{
			decl: c.name + "Cost(dst, y, x *T, n, stride, dim int, mix T)",
			doc:  "writes " + strings.Trim(c.doc, "()") + " to dst.",
			of:   "pointCost",
			emit: func(a *asm) {
				dst, costs := a.ptr("dst"), a.pointCosts(c.term)
				a.stream(a.ptr("n"), func(s span) { a.write(dst, s, costs(s)) })
			},
		})
	}
	return ks
}

func (a *asm) rowMax(src source, store bool) {
	args := src.open(a)
	tops := make([]vec, a.unroll)
	for i := range tops {
		tops[i] = a.load(a.minusInf())
	}
	var dst register
	if store {
		dst = a.ptr("dst")
	}
	a.stream(a.ptr("n"), func(s span) {
		x := args(s)
		if store {
			a.write(dst, s, x)
		}
		for u, v := range x {
			a.max(tops[u], v, tops[u])
		}
	})
	a.resultOf(0, tops, a.max)
}

func (a *asm) rowExp(src source) {
	a.ahead = true
	args := src.open(a)
	if !src.shifted {
		args = a.shiftedBy("shift", args)
	}
	e, sums, dst := a.exponential(plain), a.partialSums(), a.ptr("dst")
	a.stream(a.ptr("n"), func(s span) {
		x := args(s)
		e.apply(x)
		a.write(dst, s, x)
		a.accumulate(sums, x)
	})
	a.resultOf(0, sums, a.add)
}

// partialSums are two, or one where registers are few.
func (a *asm) partialSums() []vec {
	if a.wide {
		return a.zeros(2)
	}
	return a.zeros(1)
}

// shiftedBy subtracts a parameter from arguments.
func (a *asm) shiftedBy(name string, args func(span) []vec) func(span) []vec {
	shift := a.scalar(name)
	return func(s span) []vec {
		x := args(s)
		for _, v := range x {
			a.sub(v, v, shift)
		}
		return x
	}
}

// slack is how far arguments may exceed the shift of rowLSE: their difference,
// which is rounded, stays small where it counts.
const slack = 16

// rowLSE starts with a shift that is raised, and the sums scaled down, only
// when an argument exceeds it by more than slack, so that the row is read once. A row of −Inf gives a sum of 0.
func (a *asm) rowLSE(src source) {
	a.ahead = true
	args, e, sums := src.open(a), a.exponential(low), a.partialSums()
	shift, limit := a.scalar("start"), a.load(a.constant("slack", slack))
	a.add(limit, limit, shift)
	a.stream(a.ptr("n"), func(s span) {
		x := args(s)
		top := a.vec()
		a.mov(top, x[0])
		for _, v := range x[1:] {
			a.max(top, v, top)
		}
		fits := a.label("fits")
		a.branchUnlessAbove(top, limit, fits)
		a.across(top, a.max)
		a.op("VBROADCASTS*", top.AsX(), top)
		scale := a.vec()
		a.sub(scale, shift, top)
		a.mov(shift, top)
		a.add(limit, top, a.load(a.constant("slack", slack)))
		e.apply([]vec{scale})
		for _, v := range sums {
			a.mul(v, v, scale)
		}
		a.Label(fits)
		for _, v := range x {
			a.sub(v, v, shift)
		}
		e.apply(x)
		a.accumulate(sums, x)
	})
	a.result(0, shift)
	a.resultOf(1, sums, a.add)
}

// branchUnlessAbove jumps to label unless a lane of x exceeds that of limit.
func (a *asm) branchUnlessAbove(x, limit vec, label operand.LabelRef) {
	if a.wide {
		k := a.K()
		a.op("VCMPP*", imm(greaterSet), limit, x, k)
		a.KORTESTW(k, k)
	} else {
		m, bits := a.vec(), a.GP32()
		a.compare(m, x, greaterSet, limit)
		a.op("VMOVMSKP*", m, bits)
		a.TESTL(bits, bits)
	}
	a.JE(label)
}
