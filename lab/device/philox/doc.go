// Package philox is the random numbers of devices: the counter-based generator Philox4x32-10, and uniform and normal
// float32 numbers made of its words with operations that every machine rounds the same way.
//
// A stream is a seed of 64 bits; block k of the stream is four words, a function of seed and k alone:
//
//	w := philox.At(seed, k)
//	u := philox.Uniform(w[0])
//	z0, z1 := philox.Normal(w[0], w[1])
//	z2, z3 := philox.Normal(w[2], w[3])
//
// so any number can be had without those before it, by any goroutine or thread.
//
// # Equal bits
//
// The formulas use the float32 operations +, −, × and √, conversions from int32, and integers; each is rounded to
// nearest, ties to even, one by one. No product is fused with a sum: Go fuses only where a product is not converted
// explicitly, hence float32(a*b) + c throughout; elsewhere contraction must be off. There is no division. Nothing is
// denormal, except what Affine may make of a tiny scale. With k = w>>8:
//
//	Uniform: u = min(float32(2k+1)·2^−25, 1−2^−24)
//	Normal:  u of the first word, x of the second; (z0, z1) = √(−2·log u) · (cos, sin)(x·π/2 + q·π/2)
//	log:     u = m·2^e with √½ ≤ m < √2, f = m − 1, by bits: b = bits(u) − 0x3f3504f3, e = b>>23 (arithmetic),
//	         m = bits⁻¹((b & 0x7fffff) + 0x3f3504f3); a = f·f;
//	         y = (f·a)·P(f); y = y − ½·a; y = y + e·Ln2Lo; y = y + f; y = y + e·Ln2Hi
//	angle:   q = (k + 2^21)>>22, r = int32(k) − q·2^22, x = float32(2r+1)·2^−23, so |x| < ½;
//	         s = x·S(x²), c = 1 + x²·C(x²); rotated by q mod 4: (c,s), (−s,c), (−c,−s), (s,−c)
//	Affine:  shift + scale·v
//
// P, S and C are the polynomials logP, sinS and cosC of this package by Horner's rule from the last coefficient,
// p = p·f + c_i with both roundings. The comment at each function repeats its steps in order.
//
// # Accuracy
//
// The logarithm is within 1 unit in the last place, sine and cosine within 2, and a normal number
// is within 4 units of the exact Box–Muller of its words (tests hold them to it). The words have 24
// bits: |z| ≤ 5.89, and uniform numbers are multiples of 2^−25. Good for experiments; not for
// releasing private data (package dp/noise).
//
// # Sources
//
// Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, SC 2011 (the
// generator; known answers are those of their library Random123). Box and Muller 1958. The
// polynomials are our own minimax fits (Lawson's iteration).
package philox
