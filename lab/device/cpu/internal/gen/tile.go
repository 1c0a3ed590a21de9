package main

// Four rows of a matrix at once: a vector that is read or written with them is
// read or written once, not four times.
const tileRows = 4

func tileKernels() []kernel {
	return []kernel{
		{
			decl: "dot4(out, m, x *T, n, stride int)",
			doc:  "writes the products of four rows of m, stride elements apart, with x to out.",
			emit: func(a *asm) { dot4(a, a.size(), a.read) },
		},
		{
			decl: "axpy4(y, m, w *T, n, stride int)",
			doc:  "adds the four rows of m, stride elements apart, weighted by w to y.",
			emit: func(a *asm) { axpy4(a, a.size(), a.read) },
		},
	}
}

// rows returns pointers to four rows, whose elements have the given size.
func (a *asm) rows(size int) []register {
	m, stride := a.ptr("m"), a.ptr("stride")
	out := []register{m}
	for range tileRows - 1 {
		next := a.GP64()
		a.LEAQ(mem{Base: out[len(out)-1], Index: stride, Scale: uint8(size)}, next)
		out = append(out, next)
	}
	return out
}

// dot4 reads rows, whose elements have the given size, with load.
func dot4(a *asm, size int, load func(register, span) []vec) {
	rows, out, x := a.rows(size), a.ptr("out"), a.ptr("x")
	sums := a.zeros(2 * tileRows)
	a.unroll = 2
	a.stream(a.ptr("n"), func(s span) {
		v := a.read(x, s)
		for r, row := range rows {
			for u, w := range load(row, s) {
				a.fma(sums[2*r+u], v[u], w)
			}
		}
	})
	for r := range tileRows {
		v := a.across(a.fold(sums[2*r:2*r+2], a.add), a.add)
		m := mem{Base: out, Disp: r * a.size()}
		a.op("VMOVS*", v.AsX(), m)
	}
}

// axpy4 reads rows as dot4 does.
func axpy4(a *asm, size int, load func(register, span) []vec) {
	rows, y, w := a.rows(size), a.ptr("y"), a.ptr("w")
	weights := a.vecs(tileRows)
	for r, v := range weights {
		a.broadcastAny(v, mem{Base: w, Disp: r * a.size()})
	}
	a.unroll = 2
	a.stream(a.ptr("n"), func(s span) {
		v := a.read(y, s)
		for r, row := range rows {
			for u, m := range load(row, s) {
				a.fma(v[u], weights[r], m)
			}
		}
		a.write(y, s, v)
	})
}
