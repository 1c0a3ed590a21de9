package ot

import (
	"math"
	"slices"

	"coupling/lab/device/cpu"
)

// Clouds of points too large for a stored kernel make their first passes in float32, with twice the
// elements to a vector. Potentials, weights, row and column sums and the stopping rule are float64.
// Once the L1 error reaches the rounding of float32, some 2e-6·(8 + 2·max|c|/ε), evaluations
// continue in float64: every Tol that float64 reaches is reached, and every plan has the marginal
// error of a float64 pass over all the costs.

// kern32 is kern for float32.
var kern32 cpu.Kernels[float32]

// narrowCloud is a cloud of points in float32.
type narrowCloud struct {
	d     int
	x, yt []float32 // the points less their middle, n×d and d×m
	cost  cpu.Cost[float32]
	reach float64 // a bound on those costs
}

// inFloat32 returns the points in float32 where passes that compute costs from them are the
// fastest, that is, where the cost has a vector kernel and K is too large to store; else nil.
func (p *PointCloud) inFloat32() *narrowCloud {
	c, ok := p.vector()
	if !ok || !p.frugal || p.n <= p.storable/p.m {
		return nil
	}
	p.narrowOnce.Do(func() { p.narrow = p.round(c) })
	return p.narrow
}

// round returns the points less the middle of the targets in float32. The shift changes no cost and
// keeps precision where clouds lie far from the origin.
func (p *PointCloud) round(c cpu.Cost[float64]) *narrowCloud {
	s := &narrowCloud{d: p.d, cost: cpu.Cost[float32]{Square: float32(c.Square), Abs: float32(c.Abs)}}
	s.x, s.yt = make([]float32, p.n*p.d), make([]float32, p.d*p.m)
	x, y, reach := p.centred(c)
	for i, v := range x {
		s.x[i] = float32(v)
	}
	for j, v := range y {
		s.yt[j%p.d*p.m+j/p.d] = float32(v)
	}
	s.reach = reach
	return s
}

// centred returns the points, n×d and m×d, less the middle of the targets, and a bound on their costs.
func (p *PointCloud) centred(c cpu.Cost[float64]) (x, y []float64, reach float64) {
	x, y = make([]float64, p.n*p.d), make([]float64, p.m*p.d)
	var side float64 // the largest difference of a coordinate between two points
	for k := range p.d {
		row := p.yt[k*p.m : (k+1)*p.m]
		lo, hi := slices.Min(row), slices.Max(row)
		mid := lo + (hi-lo)/2
		far := hi - mid
		for i := range p.n {
			x[i*p.d+k] = p.x.At(i, k) - mid
			far = max(far, math.Abs(x[i*p.d+k]))
		}
		for j, v := range row {
			y[j*p.d+k] = v - mid
		}
		side = max(side, far+(hi-mid))
	}
	return x, y, float64(p.d) * side * (math.Abs(c.Square)*side + math.Abs(c.Abs))
}

// expRow writes dst[j] = exp(h[j] − c_ij·inv − shift) and returns the sum.
func (s *narrowCloud) expRow(dst []float32, i int, h []float32, inv, shift float32) float32 {
	return kern32.PointRowExpAt(dst, h, s.x[i*s.d:(i+1)*s.d], s.yt, s.cost, inv, shift)
}

// expRowTop is expRow with the largest argument as the shift, which it returns.
func (s *narrowCloud) expRowTop(dst []float32, i int, h []float32, inv float32) (top, sum float32) {
	return kern32.PointRowExp(dst, h, s.x[i*s.d:(i+1)*s.d], s.yt, s.cost, inv)
}

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
	size := max(g.reach, math.Abs(s.cost.max), math.Abs(s.cost.min))
	return s.eps > 1/singleScale && s.eps < singleScale && size < singleScale && 20*s.singleNoise() < singleWorth
}

// singleNoise is noise for singlePass: the arguments β/ε − c/ε have the rounding of both terms,
// 2⁻²⁴ of each.
func (s *semidual) singleNoise() float64 {
	size := max(s.narrow.reach, math.Abs(s.cost.max), math.Abs(s.cost.min))
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
		total = g.expRow(dst, i, s.h32, inv, at)
	}
	if !(total > 1/singleSafe && total < singleSafe) {
		at, total = g.expRowTop(dst, i, s.h32, inv)
	}
	sum, shift = float64(total), float64(at)
	s.shift[i] = mid + shift + math.Log(sum)
	return sum, shift
}
