package main

import "github.com/mmcloughlin/avo/operand"

// Four rows of a matrix at once: a vector that is read or written with them is
// read or written once, not four times.
const tileRows = 4

func tileKernels() []kernel {
	return []kernel{
		{
			name: "dot4", doc: "writes the products of four rows of m, stride elements apart, with x to out.",
			sig: "out, m, x *T, n, stride int", emit: dot4,
		},
		{
			name: "axpy4", doc: "adds the four rows of m, stride elements apart, weighted by w to y.",
			sig: "y, m, w *T, n, stride int", emit: axpy4,
		},
	}
}

// rows returns pointers to four rows.
func (a *asm) rows() []operand.Mem {
	m, stride := a.ptr("m"), a.ptr("stride")
	out := []operand.Mem{{Base: m}}
	for range tileRows - 1 {
		next := a.GP64()
		a.LEAQ(operand.Mem{Base: out[len(out)-1].Base, Index: stride, Scale: uint8(a.size())}, next)
		out = append(out, operand.Mem{Base: next})
	}
	return out
}

func dot4(a *asm) {
	rows, out, x := a.rows(), a.ptr("out"), a.ptr("x")
	sums := a.zeros(2 * tileRows)
	a.stream(a.ptr("n"), 2, func(s span) {
		v := a.read(x, s)
		for r, row := range rows {
			for u, w := range a.read(row.Base, s) {
				a.fma(sums[2*r+u], v[u], w)
			}
		}
	})
	for r := range tileRows {
		v := a.across(a.fold(sums[2*r:2*r+2], a.add), a.add)
		m := operand.Mem{Base: out, Disp: r * a.size()}
		a.pick(a.VMOVSD, a.VMOVSS)(v.AsX(), m)
	}
}

func axpy4(a *asm) {
	rows, y, w := a.rows(), a.ptr("y"), a.ptr("w")
	weights := a.vecs(tileRows)
	for r, v := range weights {
		a.broadcastAny(v, operand.Mem{Base: w, Disp: r * a.size()})
	}
	a.stream(a.ptr("n"), 2, func(s span) {
		v := a.read(y, s)
		for r, row := range rows {
			for u, m := range a.read(row.Base, s) {
				a.fma(v[u], weights[r], m)
			}
		}
		a.write(y, s, v)
	})
}
