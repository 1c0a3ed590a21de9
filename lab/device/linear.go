package device

import "slices"

// Factor is a factor of a matrix product, as it is or transposed.
type Factor struct {
	Array     *Array
	Transpose bool
}

// N returns a as it is.
func (a *Array) N() Factor { return Factor{Array: a} }

// T returns the transpose of the last two axes of a.
func (a *Array) T() Factor { return Factor{Array: a, Transpose: true} }

// Gemm is c = alpha·a·b + beta·c for matrices; with rank 3 it is one product for each first index, and a or b may
// have first size 1 for a factor that they share. With beta = 0 the contents of c do not matter. Cost: 2·m·n·k.
func Gemm(c *Array, alpha float64, a, b Factor, beta float64) {
	k := check("Gemm", c).reads(a.Array, b.Array)
	sc, sa, sb := c.t.Shape, a.shape(), b.shape()
	r := len(sc)
	if r != 2 && r != 3 || len(sa) != r || len(sb) != r {
		k.fail("shapes %v = %v·%v: rank must be 2 or 3", sc, sa, sb)
	}
	if r == 3 && (sa[0] != 1 && sa[0] != sc[0] || sb[0] != 1 && sb[0] != sc[0]) || sc[r-2] != sa[r-2] ||
		sc[r-1] != sb[r-1] || sa[r-1] != sb[r-2] {
		k.fail("shapes %v = %v·%v do not fit", sc, sa, sb)
	}
	k.do(func() { c.ops().Gemm(c.t, alpha, a.Array.t, a.Transpose, b.Array.t, b.Transpose, beta) })
}

// shape is the shape of op(a).
func (f Factor) shape() []int {
	s := slices.Clone(f.Array.t.Shape)
	if n := len(s); f.Transpose && n >= 2 {
		s[n-1], s[n-2] = s[n-2], s[n-1]
	}
	return s
}
