package main

// Rows held in float32, arithmetic in float64: half the memory to wait for, and
// no other rounding than that of the stored rows. Emitted for float64 alone.
func mixedKernels() []kernel {
	return []kernel{
		{
			decl: "mixedDot4(out *T, m *float32, x *T, n, stride int)",
			doc:  "writes the products of four rows of m, stride elements apart, with x to out.",
			emit: func(a *asm) { dot4(a, 4, a.widen) },
		},
		{
			decl: "mixedAxpy4(y *T, m *float32, w *T, n, stride int)",
			doc:  "adds the four rows of m, stride elements apart, weighted by w to y.",
			emit: func(a *asm) { axpy4(a, 4, a.widen) },
		},
		{
			decl: "mixedDot(x *float32, y *T, n int) (sum T)",
			doc:  "returns the sum of x*y.",
			emit: func(a *asm) { a.dot(a.widen, a.read) },
		},
		{
			decl: "wideSum(x *float32, n int) (sum T)",
			doc:  "returns the sum of x.",
			emit: func(a *asm) { a.sum(a.widen) },
		},
		{
			decl: "wideDot(x, y *float32, n int) (sum T)",
			doc:  "returns the sum of x*y.",
			emit: func(a *asm) { a.dot(a.widen, a.widen) },
		},
		{
			decl: "mixedAxpy(y *T, x *float32, n int, alpha T)",
			doc:  "adds alpha*x to y.",
			emit: func(a *asm) { axpy(a, a.widen) },
		},
		{
			decl: "narrow(dst *float32, x *T, n int, alpha T)",
			doc:  "writes alpha*x to dst, and 0 where that is under the least normal float32.",
			emit: func(a *asm) {
				dst, x, n, alpha := a.ptr("dst"), a.ptr("x"), a.ptr("n"), a.scalar("alpha")
				least := a.load(a.constant("least32", 0x1p-126))
				a.stream(n, func(s span) {
					v := a.read(x, s)
					for _, w := range v {
						a.mul(w, alpha, w)
						a.clearBelow(w, least)
					}
					a.narrow(dst, s, v)
				})
			},
		},
	}
}

// at32 is the given vector of float64 lanes after element i of an array of float32.
func (a *asm) at32(base, i register, vector int) mem {
	return mem{Base: base, Index: i, Scale: 4, Disp: vector * a.lanes() * 4}
}

// widen loads a span of float32 as vectors of float64; lanes that do not exist are zero.
func (a *asm) widen(base register, s span) []vec {
	out := a.vecs(s.n)
	for u, v := range out {
		m := a.at32(base, s.i, u)
		switch {
		case s.mask == nil:
			a.VCVTPS2PD(m, v)
		case a.wide:
			a.VCVTPS2PD_Z(m, s.mask, v)
		default:
			x := a.XMM()
			a.VMASKMOVPS(m, a.halfMask(s.mask), x)
			a.VCVTPS2PD(x, v)
		}
	}
	return out
}

// narrow stores vectors of float64 as a span of float32.
func (a *asm) narrow(base register, s span, vs []vec) {
	for u, v := range vs {
		m := a.at32(base, s.i, u)
		if a.wide {
			y := a.YMM()
			a.VCVTPD2PS(v, y)
			if s.mask == nil {
				a.VMOVUPS(y, m)
			} else {
				a.VMOVUPS(y, s.mask, m)
			}
			continue
		}
		x := a.XMM()
		a.VCVTPD2PSY(v, x)
		if s.mask == nil {
			a.VMOVUPS(x, m)
		} else {
			a.VMASKMOVPS(x, a.halfMask(s.mask), m)
		}
	}
}

// halfMask is a mask of four float64 lanes for four float32 (AVX2 only).
func (a *asm) halfMask(mask register) register {
	low, high := mask.(vec).AsX(), a.XMM()
	a.VEXTRACTF128(imm(1), mask, high)
	a.VSHUFPS(imm(0x88), high, low, high)
	return high
}

// clearBelow replaces numbers below least by 0; NaN stays.
func (a *asm) clearBelow(v, least vec) {
	const notLess = 0x15 // true for NaN, quiet
	if a.wide {
		k := a.K()
		a.VCMPPD(imm(notLess), least, v, k)
		a.VMOVAPD_Z(v, k, v)
		return
	}
	keep := a.vec()
	a.compare(keep, v, notLess, least)
	a.and(v, v, keep)
}
