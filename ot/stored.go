package ot

import "math"

// storedKernel holds the rows of T at some β⁰, up to a factor each: K_ij = exp((β⁰ⱼ−cᵢⱼ−refᵢ)/ε). At a β near it,
// T = Diag(u) K Diag(v), v = exp((β−β⁰)/ε), so that a pass is products without exponentials (the absorption of
// Schmitzer 2019; with β⁰ = 0, kernel scaling).
type storedKernel struct {
	eps    float64   // 0 where there is no kernel
	base   []float64 // β⁰
	ref    []float64
	data   []float64 // n×m
	served int       // evaluations since it was stored
}

const (
	// storedDrift is how far potentials may move apart, in ε, before K is stored afresh: what was cut off at e^−700
	// stays below e^−500.
	storedDrift = 200
	// storedCached is the number of entries (8 MB) that stay in cache: up to there products with K beat making costs
	// and exponentials afresh even where those are quick.
	storedCached = 1 << 20
)

// mayStore reports whether there is room for K, and use.
func (s *semidual) mayStore() bool {
	if s.store {
		return true
	}
	most := holdLimit
	switch g := s.g.(type) {
	case *CostMatrix:
	case *PointCloud:
		if g.matrixFree {
			most = storedCached
		}
	default:
		most = storedCached
	}
	return s.n <= most/s.m
}

// drift returns the middle of the moves β−β⁰ and their spread; potentials are defined up to a shift.
func drift(beta, base []float64) (mid, spread float64) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for j, v := range beta {
		if d := v - base[j]; d == d { // −Inf − −Inf where the weight is 0
			lo, hi = min(lo, d), max(hi, d)
		}
	}
	return lo + (hi-lo)/2, hi - lo
}

// scalings writes v = exp((β−β⁰−mid)/ε), 0 where the weight is 0.
func (s *semidual) scalings(dst, beta, base []float64, mid float64) {
	inv := 1 / s.eps
	for j, v := range beta {
		dst[j] = (v - base[j] - mid) * inv
		if s.b[j] == 0 {
			dst[j] = math.Inf(-1)
		}
	}
	kern.Exp(dst, dst)
}

// useKernel reports whether K is good at beta, and v's shift. Where a list of the entries that matter may be had, K
// gives way to it once steps have settled.
func (s *semidual) useKernel(beta []float64, relax float64) (mid float64, ok bool) {
	k := s.kernel
	if k == nil || k.eps != s.eps || s.newton {
		return 0, false
	}
	if s.sparse && relax == 1 && s.noActive != s.eps && k.served >= 3 {
		return 0, false
	}
	mid, spread := drift(beta, k.base)
	return mid, spread <= storedDrift*s.eps
}

// forget drops what was kept of other evaluations.
func (s *semidual) forget() {
	s.act = nil
	if s.kernel != nil {
		s.kernel.eps = 0
	}
}

// newKernel returns the kernel to store into, at beta.
func (s *semidual) newKernel(beta []float64) *storedKernel {
	k := s.kernel
	if k == nil {
		k = &storedKernel{ref: make([]float64, s.n), data: make([]float64, s.n*s.m)}
		s.kernel = k
	}
	k.eps, k.served = s.eps, 0
	k.base = append(k.base[:0], beta...)
	return k
}

// evalKernel is eval by products with K.
func (s *semidual) evalKernel(beta []float64, mid, relax float64) float64 {
	kernel := s.kernel
	kernel.served++
	s.full = false
	s.scalings(s.h, beta, kernel.base, mid)
	s.sw.each(func(w *worker, k int, r span) {
		part := s.part[k]
		clear(part)
		s.rowL1[k] = 0
		for i := r.lo; i < r.hi; i++ {
			if s.a[i] == 0 {
				s.alpha[i] = math.Inf(-1)
				continue
			}
			row := kernel.data[i*s.m : (i+1)*s.m]
			sum := dot(row, s.h)
			mass := s.setAlpha(k, i, kernel.ref[i]+mid+s.eps*math.Log(sum), relax)
			axpy(part, row, mass/sum)
		}
	})
	return s.rowError() + s.reduce(s.h)
}
