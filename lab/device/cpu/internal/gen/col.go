package main

import "github.com/mmcloughlin/avo/operand"

func colKernels() []kernel {
	return []kernel{{
		decl: "colLSE(top, sum, c *T, n int, from, inv T)",
		doc:  "adds the row from - inv*c to the running log-sum-exp of each column.", emit: colLSE,
	}}
}

// colLSE needs one exponential an element: of old and new maximum and of new
// maximum and argument, one is equal, so with d = x − top and e = exp(−|d|)
// the sum becomes sum·e + 1 where d > 0 and sum + e elsewhere.
func colLSE(a *asm) {
	tops, sums, c, n := a.ptr("top"), a.ptr("sum"), a.ptr("c"), a.ptr("n")
	g, inv, e := a.scalar("from"), a.scalar("inv"), a.exponential(low)
	sign := a.table("signMask", func(int) operand.Constant { return a.mask(1 << 63) })
	a.stream(n, func(s span) {
		a.fetchAhead(c, s)
		x, cost := a.vecs(s.n), a.read(c, s)
		for u := range x {
			a.mov(x[u], g)
			a.fnma(x[u], cost[u], inv)
		}
		top := a.read(tops, s)
		for u := range x {
			raised := a.vec()
			a.max(raised, x[u], top[u])
			a.sub(x[u], x[u], top[u])
			a.mov(top[u], raised)
		}
		a.write(tops, s, top)
		d := a.vecs(s.n)
		for u := range x {
			a.mov(d[u], x[u])
			a.op("VORP*", sign, x[u], x[u])
		}
		e.apply(x)
		sum := a.read(sums, s)
		for u := range x {
			a.addRaised(sum[u], d[u], x[u])
		}
		a.write(sums, s, sum)
	})
}

// addRaised is sum = sum·e + 1 where d > 0, sum + e elsewhere.
func (a *asm) addRaised(sum, d, e vec) {
	one := a.load(a.constant("one", 1))
	if a.wide {
		k, zero := a.K(), a.zeros(1)[0]
		a.op("VCMPP*", imm(greaterSet), zero, d, k)
		by, plus := a.vec(), a.vec()
		a.op("VBLENDMP*", sum, one, k, by)
		a.op("VBLENDMP*", one, sum, k, plus)
		a.mov(sum, plus)
		a.fma(sum, by, e)
		return
	}
	raised, by := a.vec(), a.zeros(1)[0]
	a.compare(raised, d, greaterSet, by)
	a.blend(by, raised, sum, one)
	a.blend(sum, raised, one, sum)
	a.fma(sum, by, e)
}
