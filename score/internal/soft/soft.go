// Package soft computes softmin averages over weighted points, the arithmetic that
// Gaussian-smoothed empirical densities and Sinkhorn potentials off their points share: for each x
//
//	w_j ∝ exp(h_j − inv·|x−y_j|²),     LSE = log Σ_j exp(h_j − inv·|x−y_j|²),     Mean = Σ_j w_j y_j.
package soft

import (
	"context"
	"math"

	"coupling/lab/device/cpu"

	"gonum.org/v1/gonum/mat"
)

// rows of x are handled in chunks of this size, whatever the number of processors.
const rows = 32

// Points are m points of R^d with their logarithmic weights. Immutable and safe for concurrent use.
type Points struct {
	d, m   int
	planes []float64 // d×m: a coordinate is a row
	points []float64 // m×d
	h      []float64
}

// New copies the rows of y, m×d, and their logarithmic weights h.
func New(y *mat.Dense, h []float64) *Points {
	m, d := y.Dims()
	p := &Points{
		d:      d,
		m:      m,
		planes: make([]float64, d*m),
		points: make([]float64, 0, m*d),
		h:      append([]float64(nil), h...),
	}
	for j := range m {
		row := y.RawRowView(j)
		p.points = append(p.points, row...)
		for k, v := range row {
			p.planes[k*m+j] = v
		}
	}
	return p
}

// Dims returns the number of points and their dimension.
func (p *Points) Dims() (m, d int) { return p.m, p.d }

// few is the dimension up to which distances are made in registers, which is as fast as reading them.
const few = 8

// Each calls visit for each row of x, N×d, from many goroutines. mean is valid during the call only. Cost: N·m·(d + one
// exponential).
func (p *Points) Each(x *mat.Dense, inv float64, visit func(i int, lse float64, mean []float64)) {
	p.Weights(x, inv, func(i int, lse float64, mean, _ []float64) { visit(i, lse, mean) })
}

// Weights is Each, and shows visit the weights w too, of sum one.
func (p *Points) Weights(x *mat.Dense, inv float64, visit func(i int, lse float64, mean, w []float64)) {
	n, _ := x.Dims()
	_ = cpu.Chunks(context.Background(), n, rows, func(_, lo, hi int) {
		var k cpu.Kernels[float64]
		t, mean := make([]float64, p.m), make([]float64, p.d)
		var costs []float64
		if p.d > few {
			costs = make([]float64, (hi-lo)*p.m)
			g := cpu.Gemm[float64]{}
			block := make([]float64, 0, (hi-lo)*p.d)
			for i := lo; i < hi; i++ {
				block = append(block, x.RawRowView(i)...)
			}
			g.AddSquares(cpu.Dense(costs, hi-lo, p.m), cpu.Dense(block, hi-lo, p.d), cpu.Dense(p.points, p.m, p.d))
		}
		for i := lo; i < hi; i++ {
			var top, sum float64
			if p.d > few {
				top, sum = k.RowExp(t, p.h, costs[(i-lo)*p.m:(i-lo+1)*p.m], inv)
			} else {
				top, sum = k.PointRowExp(t, p.h, x.RawRowView(i), p.planes, cpu.Cost[float64]{Square: 1}, inv)
			}
			lse := top + math.Log(sum)
			if math.IsNaN(lse) || math.IsInf(lse, 0) {
				lse = p.far(t, x.RawRowView(i), inv)
			} else {
				k.Scale(t, 1/sum, t)
			}
			k.Gemv(mean, p.planes, p.m, t)
			visit(i, lse, mean, t)
		}
	})
}
