package main

import (
	"math"
)

func vecKernels() []kernel {
	return []kernel{
		{
			decl: "axpy(y, x *T, n int, alpha T)",
			doc:  "adds alpha*x to y.",
			emit: func(a *asm) { axpy(a, a.read) },
		},
		{
			decl: "scale(dst, x *T, n int, alpha T)",
			doc:  "writes alpha*x to dst.",
			emit: func(a *asm) {
				dst, x, n, alpha := a.ptr("dst"), a.ptr("x"), a.ptr("n"), a.scalar("alpha")
				a.stream(n, func(s span) {
					v := a.read(x, s)
					for _, w := range v {
						a.mul(w, alpha, w)
					}
					a.write(dst, s, v)
				})
			},
		},
		{
			decl: "mul(dst, x, y *T, n int)",
			doc:  "writes x*y to dst.",
			emit: func(a *asm) {
				dst, x, y, n := a.ptr("dst"), a.ptr("x"), a.ptr("y"), a.ptr("n")
				a.stream(n, func(s span) {
					v, w := a.read(x, s), a.read(y, s)
					for u := range v {
						a.mul(v[u], v[u], w[u])
					}
					a.write(dst, s, v)
				})
			},
		},
		{
			decl: "sqrt(dst, x *T, n int)",
			doc:  "writes √x to dst.",
			emit: func(a *asm) {
				dst, x, n := a.ptr("dst"), a.ptr("x"), a.ptr("n")
				a.stream(n, func(s span) {
					v := a.read(x, s)
					for _, w := range v {
						a.op("VSQRTP*", w, w)
					}
					a.write(dst, s, v)
				})
			},
		},
		{
			decl: "silu(dst, x *T, n int)",
			doc:  "writes x/(1+e^-x) to dst.",
			emit: func(a *asm) {
				dst, x, n := a.ptr("dst"), a.ptr("x"), a.ptr("n")
				e, limits := a.exponential(exact), a.newLimits(false)
				a.stream(n, func(s span) {
					v := a.read(x, s)
					for u, t := range a.onePlusExp(e, limits, v) {
						a.div(v[u], v[u], t.sum)
					}
					a.write(dst, s, v)
				})
			},
		},
		{
			decl: "siluSlope(dst, x, dy *T, n int)",
			doc:  "writes dy*s*(1+x*(1-s)) to dst, s = 1/(1+e^-x).",
			emit: func(a *asm) {
				dst, x, dy, n := a.ptr("dst"), a.ptr("x"), a.ptr("dy"), a.ptr("n")
				e, limits := a.exponential(exact), a.newLimits(true)
				a.stream(n, func(s span) {
					v := a.read(x, s)
					terms := a.onePlusExp(e, limits, v)
					w := a.read(dy, s)
					for u, t := range terms {
						a.div(w[u], w[u], t.sum)
						a.div(t.exp, t.exp, t.sum)
						a.min(t.exp, t.exp, limits.one) // 1 − s; of ∞/∞ it is 1
						a.horner(v[u], t.exp, limits.one)
						a.mul(v[u], v[u], w[u])
					}
					a.write(dst, s, v)
				})
			},
		},
	}
}

// axpy adds alpha times what read makes of x to y.
func axpy(a *asm, read func(register, span) []vec) {
	y, x, n, alpha := a.ptr("y"), a.ptr("x"), a.ptr("n"), a.scalar("alpha")
	a.stream(n, func(s span) {
		v, w := a.read(y, s), read(x, s)
		for u := range v {
			a.fma(v[u], alpha, w[u])
		}
		a.write(y, s, v)
	})
}

// limits holds 1 and the bounds of arguments; most may be nil.
type limits struct{ one, most, least input }

func (a *asm) newLimits(above bool) limits {
	most := math.MaxFloat64
	if !a.double {
		most = math.MaxFloat32
	}
	l := limits{one: a.hold("one", 1), least: a.hold("leastFinite", -most)}
	if above {
		l.most = a.hold("mostFinite", most)
	}
	return l
}

// expTerms is e^-x and 1 + e^-x.
type expTerms struct{ exp, sum vec }

// onePlusExp bounds each x by the limits and returns its terms.
func (a *asm) onePlusExp(e *exponential, l limits, xs []vec) []expTerms {
	out, negative := make([]expTerms, len(xs)), make([]vec, len(xs))
	for u, x := range xs {
		bound := a.vec()
		a.mov(bound, l.least)
		a.max(x, bound, x) // NaN passes
		if l.most != nil {
			a.mov(bound, l.most)
			a.min(x, bound, x)
		}
		negative[u] = a.zeros(1)[0]
		a.sub(negative[u], negative[u], x)
	}
	e.apply(negative)
	for u, v := range negative {
		out[u] = expTerms{v, a.vec()}
		a.add(out[u].sum, v, l.one)
	}
	return out
}
