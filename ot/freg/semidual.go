package freg

import (
	"math"

	"coupling/ot/internal/rows"
)

// semidual evaluates the dual with φ eliminated: for any ψ, the best φ makes the rows of the plan
// exact. The result is a concave function of ψ, finite everywhere for every divergence, with
// gradient b − Tᵀ1.
type semidual struct {
	*instance
	f      family
	lambda float64
	sw     *sweep

	top, x []float64 // by source, see row
	col    []float64 // Tᵀ1
	err    float64   // Σ|T1−a| + Σ|Tᵀ1−b|
	evals  int

	errs []float64 // Σ|T1−a| of each span
}

func newSemidual(in *instance, f family, workers int) *semidual {
	s := &semidual{instance: in, f: f, sw: newSweep(in, workers)}
	n, m := len(in.a), len(in.b)
	s.top, s.x, s.col, s.errs = make([]float64, n), make([]float64, n), make([]float64, m),
		make([]float64, len(s.sw.Spans))
	return s
}

// eval makes every row exact for ψ and sums the columns and their error.
func (s *semidual) eval(psi []float64) {
	s.evals++
	s.sw.Columns(s.col, func(r *row, k int, sp rows.Span, col []float64) {
		var off float64
		for i := sp.Lo; i < sp.Hi; i++ {
			r.load(s.f, s.lambda, psi, s.costs(i, r.full, r.pack))
			r.solve(s.f, s.b, s.x[i])
			s.top[i], s.x[i] = r.top, r.x
			kern.Axpy(col, s.a[i], r.t)
			off += s.a[i] * math.Abs(kern.Sum(r.t)-1)
		}
		s.errs[k] = off
	})
	s.err = 0
	for _, off := range s.errs {
		s.err += off
	}
	s.err += kern.L1Diff(s.col, s.b)
}

// recomputeRow computes row i of the last eval again, for the same ψ.
func (s *semidual) recomputeRow(r *row, i int, psi []float64) {
	r.load(s.f, s.lambda, psi, s.costs(i, r.full, r.pack))
	r.top, r.x = s.top[i], s.x[i]
	r.densities(s.f, s.b)
}

// gradient writes Tᵀ1 − b, the gradient of the negated semi-dual.
func (s *semidual) gradient(dst []float64) {
	for j, c := range s.col {
		dst[j] = c - s.b[j]
	}
}

// phi writes the source potentials of the last eval less the offset, in which φ_i + ψ_j − c_ij = λ(x_i − d_ij).
func (s *semidual) phi(dst []float64) {
	for i, x := range s.x {
		dst[i] = s.lambda*x - s.top[i]
	}
}

// farColumn is the ratio of a column to its weight beyond which a Newton step says little about it;
// its potential is then found from the column's own equation.
const farColumn = 2

// sinkhornColumns solves the equation of every column that is off by a factor of farColumn or more,
// Σ_i a_i m((φ_i + ψ_j − c_ij)/λ) = 1, for the φ of the last eval: a half step of generalised
// Sinkhorn for some of the columns. It never lowers the dual, which for given φ is a sum over
// columns, each of which it maximises. So an atom of very small mass, which has almost no curvature
// and hardly counts in the marginal error, does not delay the steps of all others. It reports
// whether there was such a column; if so it takes a pass over the costs.
func (s *semidual) sinkhornColumns(psi []float64) bool {
	var far []int
	for j, b := range s.b {
		if c := s.col[j]; c < b/farColumn || c > b*farColumn {
			far = append(far, j)
		}
	}
	if far == nil {
		return false
	}
	n := len(s.a)
	phi := make([]float64, n)
	s.phi(phi)
	r, full, pack := newRow(n, 0), make([]float64, len(s.full.b)), make([]float64, len(s.b))
	row := func(i int) []float64 { return s.costs(i, full, pack) }
	eachColumn(n, far, row, func(j int, cost []float64) {
		r.load(s.f, s.lambda, phi, cost)
		r.solve(s.f, s.a, 0)
		psi[j] = s.lambda*r.x - r.top
	})
	return true
}

type sweep = rows.Sweep[*row]

func newSweep(in *instance, workers int) *sweep {
	return rows.NewSweep(len(in.a), len(in.b), workers, func() *row { return newRow(len(in.b), len(in.full.b)) })
}
