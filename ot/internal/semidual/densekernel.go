package semidual

import (
	"math"

	"coupling/lab/logspace"
	"coupling/ot/internal/rows"
)

// denseKernel holds the rows of T at some β⁰, up to a factor each: K_ij = exp((β⁰ⱼ−cᵢⱼ−refᵢ)/ε). At a β near it,
// T = Diag(u) K Diag(v), v = exp((β−β⁰)/ε), so that a pass is products without exponentials (the absorption of
// Schmitzer 2019; with β⁰ = 0, kernel scaling).
//
// The speed of memory bounds such a pass, so K is held in float32, with all arithmetic in float64,
// as long as that is exact enough. Rounding changes an entry of T relatively by at most 2⁻²⁴, the
// row sum that divides it by as much again, and so the L1 error of the columns by at most 2⁻²³ =
// 1.2e-7, whatever the problem.
type denseKernel struct {
	Eps    float64   // 0 where there is no kernel
	base   []float64 // β⁰
	ref    []float64
	Single bool // K is held in data32, its rows scaled to sum to 1, else in data
	data   []float64
	data32 []float32
	uses   int     // evaluations since it was stored
	mid    float64 // the shift of v at the β that the kernel was chosen for
}

const (
	// storedDrift is the spread of the moves of potentials, in ε, above which K is stored afresh:
	// entries that were cut off at e^−700 stay below e^−500, and in float32, entries cut off at
	// e^−87 stay below e^−47 of their row.
	storedDrift, storedDrift32 = 200, 40
	// storedCached is the number of float64 (8 MB) that stay in cache: up to there products with K beat making costs
	// and exponentials afresh even where those are quick.
	storedCached = 1 << 20
	// SingleTol is the tolerance, eight times what float32 changes, down to which K is held in float32.
	SingleTol = 0x1p-20
	// singleColumn is the least column sum, as a part of T's mass, and the least weight, for which K is
	// held in float32, where entries under 2⁻¹²⁶ = 1e-38 of their row are lost.
	singleColumn = 1e-25
)

// Drift returns the middle of the moves β−β⁰ and their spread; potentials are defined up to a shift.
func Drift(beta, base []float64) (mid, spread float64) {
	// Maxima ignore NaN, which is the move −Inf − −Inf where the weight is 0.
	lo, hi := -kern.RowMax(base, beta, 1), kern.RowMax(beta, base, 1)
	return lo + (hi-lo)/2, hi - lo
}

// Middle returns the middle of the potentials of positive weight, and how far they reach from it.
func Middle(v, weights []float64) (mid, most float64) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for j, w := range weights {
		if w > 0 {
			lo, hi = min(lo, v[j]), max(hi, v[j])
		}
	}
	mid = lo + (hi-lo)/2
	return mid, hi - mid
}

// Scalings writes v = exp((β−β⁰−mid)/ε), 0 where the weight is 0.
func (s *Function) Scalings(dst, beta, base []float64, mid float64) {
	kern.RowExpScaled(dst, beta, base, mid, 1/s.Eps)
	for _, j := range s.ZeroB {
		dst[j] = 0
	}
}

// usable reports whether K is valid at beta.
func (k *denseKernel) usable(beta []float64, eps float64) bool {
	if k == nil || k.Eps != eps {
		return false
	}
	most := storedDrift
	if k.Single {
		most = storedDrift32
	}
	mid, spread := Drift(beta, k.base)
	k.mid = mid
	return spread <= float64(most)*eps
}

// newKernel returns the kernel to store into, at beta.
func (s *Function) newKernel(beta []float64) *denseKernel {
	k := s.Kernel
	if k == nil {
		k = &denseKernel{ref: s.Memory.Floats(s.N), base: s.Memory.Floats(s.M)}
		s.Kernel = k
	}
	k.Eps, k.uses, k.Single = s.Eps, 0, s.single
	switch {
	case k.Single && k.data32 == nil:
		k.data32 = s.Memory.floats32(s.N * s.M)
	case !k.Single && k.data == nil:
		k.data = s.Memory.Floats(s.N * s.M)
	}
	copy(k.base, beta)
	return k
}

// dropIfUnderflowed drops a float32 kernel in which a column has almost no entry left. Where marginals
// are penalised, such a column may be right, and the stage goes on in float64.
func (s *Function) dropIfUnderflowed(k *denseKernel) {
	if !k.Single {
		return
	}
	least := singleColumn * kern.Sum(s.Col)
	for j, c := range s.Col {
		if c < least && s.B[j] > 0 {
			k.Eps = 0
			s.single = s.Marginals == nil
			return
		}
	}
}

// put stores row i: e = exp((β⁰−c−ref)/ε), which sums to sum, and in float64 is in its place
// already.
func (k *denseKernel) put(i int, e []float64, sum, ref float64) {
	k.ref[i] = ref
	if k.Single {
		k.ref[i] += k.Eps * logspace.Log(sum)
		mixed.Narrow(k.data32[i*len(e):(i+1)*len(e)], 1/sum, e)
	}
}

// sums writes the sums of len(dst) rows of K Diag(v), from row i, to dst.
func (k *denseKernel) sums(dst []float64, i int, v []float64) {
	m := len(v)
	if k.Single {
		mixed.Gemv(dst, k.data32[i*m:(i+len(dst))*m], m, v)
		return
	}
	kern.Gemv(dst, k.data[i*m:(i+len(dst))*m], m, v)
}

// add adds len(w) rows of K from row i, weighted by w, to col.
func (k *denseKernel) add(col []float64, i int, w []float64) {
	m := len(col)
	if k.Single {
		mixed.GemvT(col, k.data32[i*m:(i+len(w))*m], m, w)
		return
	}
	kern.GemvT(col, k.data[i*m:(i+len(w))*m], m, w)
}

func (*denseKernel) Certifies() bool { return false }

// Eval makes products with K, four rows at a time, which stay in cache from the sums to the columns.
func (k *denseKernel) Eval(s *Function, beta []float64) float64 {
	k.uses++
	mid := k.mid
	s.Scalings(s.H, beta, k.base, mid)
	s.columns(func(_ *Worker, at int, r rows.Span, part []float64) {
		var four [4]float64
		for lo := r.Lo; lo < r.Hi; lo += len(four) {
			w := four[:min(len(four), r.Hi-lo)]
			k.sums(w, lo, s.H)
			for l, sum := range w {
				i := lo + l
				if s.A[i] == 0 {
					s.Alpha[i], w[l] = math.Inf(-1), 0
					continue
				}
				w[l] = s.SetAlpha(at, i, k.ref[i]+mid+s.Eps*logspace.Log(sum)) / sum
			}
			k.add(part, lo, w)
		}
	})
	kern.Mul(s.Col, s.Col, s.H)
	return s.Error()
}
