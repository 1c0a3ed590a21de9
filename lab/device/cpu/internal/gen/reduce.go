package main

func reduceKernels() []kernel {
	return []kernel{
		{
			decl: "sum(x *T, n int) (sum T)",
			doc:  "returns the sum of x.",
			emit: func(a *asm) { a.sum(a.read) },
		},
		{
			decl: "dot(x, y *T, n int) (sum T)",
			doc:  "returns the sum of x*y.",
			emit: func(a *asm) { a.dot(a.read, a.read) },
		},
		{
			decl: "l1diff(x, y *T, n int) (sum T)",
			doc:  "returns the sum of |x-y|.",
			emit: func(a *asm) {
				x, y := a.ptr("x"), a.ptr("y")
				a.reduce(func(s span, sums []vec) {
					v, w := a.read(x, s), a.read(y, s)
					for u := range v {
						a.sub(v[u], v[u], w[u])
						a.and(v[u], v[u], a.absMask())
						a.add(sums[u], sums[u], v[u])
					}
				})
			},
		},
		{
			decl: "dotSign(t, y *T, n int, x T) (sum T)",
			doc:  "returns the sum of t*sign(x-y).",
			emit: func(a *asm) {
				t, y, x := a.ptr("t"), a.ptr("y"), a.scalar("x")
				a.reduce(func(s span, sums []vec) {
					v, w := a.read(t, s), a.read(y, s)
					for u := range v {
						a.signed(v[u], x, w[u])
						a.add(sums[u], sums[u], v[u])
					}
				})
			},
		},
		{
			decl: "below(dst, t, y *T, n int, x T) (sum T)",
			doc:  "writes t where y < x and else 0 to dst, and returns the sum.",
			emit: func(a *asm) {
				dst, t, y, x := a.ptr("dst"), a.ptr("t"), a.ptr("y"), a.scalar("x")
				a.reduce(func(s span, sums []vec) {
					v, w := a.read(t, s), a.read(y, s)
					for u := range v {
						a.where(v[u], w[u], x)
						a.add(sums[u], sums[u], v[u])
					}
					a.write(dst, s, v)
				})
			},
		},
	}
}

// sum adds what read makes of x.
func (a *asm) sum(read func(register, span) []vec) {
	x := a.ptr("x")
	a.reduce(func(s span, sums []vec) { a.accumulate(sums, read(x, s)) })
}

// dot adds the products of what first makes of x and second of y.
func (a *asm) dot(first, second func(register, span) []vec) {
	x, y := a.ptr("x"), a.ptr("y")
	a.reduce(func(s span, sums []vec) {
		v, w := first(x, s), second(y, s)
		for u := range v {
			a.fma(sums[u], v[u], w[u])
		}
	})
}

// reduce sums into as many vectors as are read at once and returns their sum.
func (a *asm) reduce(body func(s span, sums []vec)) {
	sums := a.zeros(a.unroll)
	a.stream(a.ptr("n"), func(s span) { body(s, sums) })
	a.resultOf(0, sums, a.add)
}

// where is t where y < x and else 0; it overwrites y.
func (a *asm) where(t, y, x vec) {
	const less = 0x11 // quiet
	if a.wide {
		k := a.K()
		a.op("VCMPP*", imm(less), x, y, k)
		a.op("VMOVAP*_Z", t, k, t)
	} else {
		a.compare(y, y, less, x)
		a.and(t, t, y)
	}
}

// signed is t = t·sign(x − y). A lane where x or y is NaN becomes NaN.
func (a *asm) signed(t, x, y vec) {
	const less, greater, unordered = 0x11, 0x1e, 3 // quiet
	d, plus, minus, zero := a.vec(), a.vec(), a.vec(), a.zeros(1)[0]
	a.sub(d, x, y)
	one := a.load(a.constant("one", 1))
	if a.wide {
		k := func(predicate uint64) register {
			r := a.K()
			a.op("VCMPP*", imm(predicate), zero, d, r)
			return r
		}
		a.op("VMOVAP*_Z", one, k(greater), plus)
		a.op("VMOVAP*_Z", one, k(less), minus)
		a.op("VMOVUP*", d, k(unordered), plus)
	} else {
		a.compare(plus, d, greater, zero)
		a.compare(minus, d, less, zero)
		a.and(plus, plus, one)
		a.and(minus, minus, one)
		a.compare(zero, d, unordered, d)
		a.op("VORP*", zero, plus, plus) // all ones is a NaN
	}
	a.sub(plus, plus, minus)
	a.mul(t, t, plus)
}
