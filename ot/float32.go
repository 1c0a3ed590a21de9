package ot

import (
	"math"
)

// Clouds of points too large for a stored kernel make their first passes in float32, with twice the
// elements to a vector. Potentials, weights, row and column sums and the stopping rule are float64.
// Once the L1 error reaches the rounding of float32, some 2e-6·(8 + 2·max|c|/ε), evaluations
// continue in float64: every Tol that float64 reaches is reached, and every plan has the marginal
// error of a float64 pass over all the costs.

const (
	// singleSafe bounds the sums that singlePass accepts: entries of a row under 1e-38 become 0,
	// which is negligible as long as they are under 1e-34 of the sum.
	singleSafe = 1e4
	// singleScale bounds ε and the costs, so that both and their quotients are normal float32.
	singleScale = 1e15
	// singleWorth is the largest rounding error of float32, as an L1 error, with which singlePass
	// is worth using.
	singleWorth = stageTol
)

// singleFits reports whether the costs can be computed in float32 and that helps at s.eps.
func (s *semidual) singleFits() bool {
	g := s.narrow
	if g == nil {
		return false
	}
	s.hMax = max(math.Abs(s.cost.max), math.Abs(s.cost.min)) / s.eps // until there is a better guess
	size := max(g.Reach, math.Abs(s.cost.max), math.Abs(s.cost.min))
	return s.eps > 1/singleScale && s.eps < singleScale && size < singleScale && 20*s.singleNoise() < singleWorth
}

// singleNoise is noise for singlePass: the arguments β/ε − c/ε have the rounding of both terms,
// 2⁻²⁴ of each.
func (s *semidual) singleNoise() float64 {
	size := max(s.narrow.Reach, math.Abs(s.cost.max), math.Abs(s.cost.min))
	return 0x1p-23 * (8 + size/s.eps + s.hMax)
}

// prepareSingle rounds β/ε, less its middle, to float32.
func (s *semidual) prepareSingle(beta []float64) (mid float64) {
	s.prepare(beta)
	if s.h32 == nil {
		s.h32 = make([]float32, s.m)
	}
	lo, hi := s.span(s.h)
	mid = lo + (hi-lo)/2
	s.hMax = hi - mid
	for j, v := range s.h {
		s.h32[j] = float32(v - mid)
	}
	return mid
}

// evalSingle is evalFull with exponentials in float32 and their sums in float64.
func (s *semidual) evalSingle(beta []float64, relax float64) float64 {
	s.full = false
	mid := s.prepareSingle(beta)
	s.columns(func(w *worker, k int, r span, part []float64) {
		if w.exp32 == nil {
			w.exp32 = make([]float32, s.m)
		}
		for i := r.Lo; i < r.Hi; i++ {
			if s.a[i] == 0 {
				s.alpha[i] = math.Inf(-1)
				continue
			}
			sum, shift := s.singleRow(w.exp32, i, mid)
			mass := s.setAlpha(k, i, s.eps*(shift+mid+math.Log(sum)), relax)
			mixed.Axpy(part, mass/sum, w.exp32)
		}
	})
	return s.rowError() + s.reduce(nil)
}

// singleRow writes row i of T up to a factor and returns its sum and the shift of its arguments.
func (s *semidual) singleRow(dst []float32, i int, mid float64) (sum, shift float64) {
	inv, at := float32(1/s.eps), float32(s.shift[i]-mid)
	var total float32
	g := s.narrow
	if at == at {
		total = g.ExpRow(dst, i, s.h32, inv, at)
	}
	if !(total > 1/singleSafe && total < singleSafe) {
		at, total = g.ExpRowTop(dst, i, s.h32, inv)
	}
	sum, shift = float64(total), float64(at)
	s.shift[i] = mid + shift + math.Log(sum)
	return sum, shift
}
