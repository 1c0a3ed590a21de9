package semidual

import (
	"math"

	"coupling/lab/logspace"
	"coupling/ot/internal/geometry"
	"coupling/ot/internal/rows"
)

// Clouds of points too large for a stored kernel make their first passes in float32, with twice the
// elements to a vector. Potentials, weights, row and column sums and the stopping rule are float64.
// Once the L1 error reaches the rounding of float32, some 2e-6·(8 + 2·max|c|/ε), evaluations
// continue in float64: every Tol that float64 reaches is reached, and every plan has the marginal
// error of a float64 pass over all the costs.

const (
	// singleSafe bounds the sums that float32Pass accepts: entries of a row under 1e-38 become 0,
	// which is negligible as long as they are under 1e-34 of the sum.
	singleSafe = 1e4
	// singleWorth is the largest rounding error of float32, as an L1 error, with which float32Pass
	// is worth using.
	singleWorth = 0.05
)

// float32Pass makes exponentials in float32 and their sums in float64.
type float32Pass struct {
	costs *geometry.Rounded
	h     []float32 // m, scratch: (β−middle)/ε
	hMax  float64   // max |h|
}

func (*float32Pass) Certifies() bool { return false }

// float32Fits reports whether the costs can be computed in float32 and that helps at s.eps.
func (s *Function) float32Fits() bool {
	if s.narrow == nil {
		return false
	}
	s.narrow.hMax = max(math.Abs(s.Cost.Max), math.Abs(s.Cost.Min)) / s.Eps // until there is a better guess
	return s.Eps > 1/rows.SingleScale && s.Eps < rows.SingleScale && s.narrow.size(s) < rows.SingleScale &&
		20*s.narrow.noise(s) < singleWorth
}

// size is a bound on the terms of a cost.
func (p *float32Pass) size(s *Function) float64 {
	return max(p.costs.Reach, math.Abs(s.Cost.Max), math.Abs(s.Cost.Min))
}

// noise is Function.Noise for float32: the arguments β/ε − c/ε have the rounding of both terms,
// 2⁻²⁴ of each.
func (p *float32Pass) noise(s *Function) float64 {
	return 0x1p-23 * (8 + p.size(s)/s.Eps + p.hMax)
}

// prepare rounds β/ε, less its middle, to float32.
func (p *float32Pass) prepare(s *Function, beta []float64) (mid float64) {
	s.prepare(beta)
	if p.h == nil {
		p.h = make([]float32, s.M)
	}
	mid, p.hMax = Middle(s.H, s.B)
	for j, v := range s.H {
		p.h[j] = float32(v - mid)
	}
	return mid
}

func (p *float32Pass) Eval(s *Function, beta []float64) float64 {
	mid := p.prepare(s, beta)
	s.eachRow(func(w *Worker, k, i int, part []float64) {
		if w.exp32 == nil {
			w.exp32, w.cost32 = make([]float32, s.M), make([]float32, s.M)
		}
		sum, shift := p.row(s, w, i, mid)
		mass := s.SetAlpha(k, i, s.Eps*(shift+mid+logspace.Log(sum)))
		mixed.Axpy(part, mass/sum, w.exp32)
	})
	return s.Error()
}

// row writes row i of T up to a factor and returns its sum and the shift of its arguments.
func (p *float32Pass) row(s *Function, w *Worker, i int, mid float64) (sum, shift float64) {
	inv, at := float32(1/s.Eps), float32(s.shift[i]-mid)
	var total float32
	if at == at {
		total = p.costs.ExpRow(w.exp32, w.cost32, i, p.h, inv, at)
	}
	if !(total > 1/singleSafe && total < singleSafe) {
		at, total = p.costs.ExpRowTop(w.exp32, w.cost32, i, p.h, inv)
	}
	sum, shift = float64(total), float64(at)
	s.shift[i] = mid + shift + logspace.Log(sum)
	return sum, shift
}
