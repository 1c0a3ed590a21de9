package main

import "github.com/mmcloughlin/avo/operand"

func vecKernels() []kernel {
	return []kernel{
		{
			name: "axpy", doc: "adds alpha*x to y.", sig: "y, x *T, n int, alpha T",
			emit: func(a *asm) {
				y, x, n, alpha := a.ptr("y"), a.ptr("x"), a.ptr("n"), a.scalar("alpha")
				a.stream(n, a.unroll, func(s span) {
					v, w := a.read(y, s), a.read(x, s)
					for u := range v {
						a.fma(v[u], alpha, w[u])
					}
					a.write(y, s, v)
				})
			},
		},
		{
			name: "scale", doc: "writes alpha*x to dst.", sig: "dst, x *T, n int, alpha T",
			emit: func(a *asm) {
				dst, x, n, alpha := a.ptr("dst"), a.ptr("x"), a.ptr("n"), a.scalar("alpha")
				a.stream(n, a.unroll, func(s span) {
					v := a.read(x, s)
					for _, w := range v {
						a.mul(w, alpha, w)
					}
					a.write(dst, s, v)
				})
			},
		},
		{
			name: "mul", doc: "writes x*y to dst.", sig: "dst, x, y *T, n int",
			emit: func(a *asm) {
				dst, x, y, n := a.ptr("dst"), a.ptr("x"), a.ptr("y"), a.ptr("n")
				a.stream(n, a.unroll, func(s span) {
					v, w := a.read(x, s), a.read(y, s)
					for u := range v {
						a.mul(v[u], v[u], w[u])
					}
					a.write(dst, s, v)
				})
			},
		},
		{
			name: "div", doc: "writes x/y to dst, and 0 where x is 0.", sig: "dst, x, y *T, n int",
			emit: func(a *asm) {
				dst, x, y, n := a.ptr("dst"), a.ptr("x"), a.ptr("y"), a.ptr("n")
				a.stream(n, a.unroll, func(s span) {
					v, w := a.read(x, s), a.read(y, s)
					for u := range v {
						a.divide(v[u], w[u])
					}
					a.write(dst, s, v)
				})
			},
		},
	}
}

// divide is x = x/y, and 0 where x is 0.
func (a *asm) divide(x, y vec) {
	const unequal = 4 // true for NaN, quiet
	zero := a.zeros(1)[0]
	if a.wide {
		k := a.K()
		a.pick(a.VCMPPD, a.VCMPPS)(operand.Imm(unequal), zero, x, k)
		if a.double {
			a.VDIVPD_Z(y, x, k, x)
		} else {
			a.VDIVPS_Z(y, x, k, x)
		}
		return
	}
	a.compare(zero, x, unequal, zero)
	a.div(x, x, y)
	a.and(x, x, zero)
}
