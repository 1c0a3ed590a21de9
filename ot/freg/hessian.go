package freg

import (
	"context"

	"coupling/ot/internal/laplacian"
	"coupling/ot/internal/rows"
)

// hessian is the Hessian of the negated semi-dual times λ at one ψ: with K_ij = a_i b_j κ(v_ij), r = K1 and k = Kᵀ1,
//
//	D = Diag(k) − Kᵀ Diag(1/r) K,
//
// the Laplacian of a resistor network between the targets, with conductances W_jl = Σ_i K_ij K_il /
// r_i. It is singular along the constants, and wherever the network is disconnected, which a ramp's
// may be even at the solution. A metric makes it definite: D + Diag(ground) with ground = κ(1) (μ b
// + σ (b − Tᵀ1)₊), where κ(1) b is the k of independent marginals. The second term is for targets
// far short of their mass, which have too little curvature to bound a step.
type hessian struct {
	s      *semidual
	ground []float64
	r, k   []float64
	rows   []entries
	diag   []float64 // of D
	part   []float64 // by span, scratch for products
}

// entries are the nonzero entries of a row of K: all of them in order, or those of the targets idx.
type entries struct {
	idx []int32
	val []float64
}

func newHessian(s *semidual) *hessian {
	n, m := len(s.a), len(s.b)
	return &hessian{
		s: s, ground: make([]float64, m), r: make([]float64, n), k: make([]float64, m), rows: make([]entries, n),
		diag: make([]float64, m), part: make([]float64, 2*len(s.sw.spans)*m),
	}
}

// dense reports whether all entries of a row are kept, which multiplies faster than a list unless most are zero.
func (e *entries) dense() bool { return len(e.idx) == 0 }

// assemble makes K at the ψ of the last eval, whose rows it recomputes. It leaves out entries that
// are less than cut of both their row and the column's weight; D remains a Laplacian.
func (h *hessian) assemble(psi []float64, mu, short, cut float64) {
	s, m := h.s, len(h.s.b)
	one := s.f.slope(1)
	for j, b := range s.b {
		h.ground[j] = one * (mu*b + short*max(0, b-s.col[j]))
	}
	clear(h.part)
	s.sw.each(func(r *row, k int, sp rows.Span) {
		col, sq := h.part[2*k*m:(2*k+1)*m], h.part[(2*k+1)*m:(2*k+2)*m]
		for i := sp.Lo; i < sp.Hi; i++ {
			s.recomputeRow(r, i, psi)
			e := &h.rows[i]
			h.r[i] = e.take(r, s.f, s.a[i], s.b, cut)
			inv := 1 / h.r[i]
			for l, v := range e.val {
				j := l
				if !e.dense() {
					j = int(e.idx[l])
				}
				col[j] += v
				sq[j] += v * ((h.r[i] - v) * inv)
			}
		}
	})
	h.fold(h.k, 0)
	h.fold(h.diag, 1)
}

// fold sums one of the two vectors over all spans.
func (h *hessian) fold(dst []float64, which int) {
	m := len(dst)
	clear(dst)
	for k := range h.s.sw.spans {
		kern.Axpy(dst, 1, h.part[(2*k+which)*m:(2*k+which+1)*m])
	}
}

// take appends the row that r holds and returns its sum.
func (e *entries) take(r *row, f family, a float64, b []float64, cut float64) float64 {
	w := r.p // p is no longer needed
	r.curvatures(w, f, a, b)
	rowCut, colCut := cut*kern.Sum(w), cut*f.slope(1)
	kept := 0
	for j, v := range w {
		if v > 0 && (v >= rowCut || v >= colCut*b[j]) {
			kept++
		}
	}
	e.idx, e.val = e.idx[:0], e.val[:0]
	if 3*kept > len(w) {
		e.val = append(e.val, w...)
		return kern.Sum(w)
	}
	for j, v := range w {
		if v > 0 && (v >= rowCut || v >= colCut*b[j]) {
			e.idx, e.val = append(e.idx, int32(j)), append(e.val, v)
		}
	}
	return kern.Sum(e.val)
}

// dot returns Σ_j e_j x_j.
func (e *entries) dot(x []float64) float64 {
	if e.dense() {
		return kern.Dot(e.val, x)
	}
	var t float64
	for l, j := range e.idx {
		t += e.val[l] * x[j]
	}
	return t
}

// axpy adds w e to y.
func (e *entries) axpy(y []float64, w float64) {
	if e.dense() {
		kern.Axpy(y, w, e.val)
		return
	}
	for l, j := range e.idx {
		y[j] += w * e.val[l]
	}
}

// mul writes (D + Diag(ground)) x.
func (h *hessian) mul(dst, x []float64) {
	m := len(x)
	h.s.sw.each(func(_ *row, k int, sp rows.Span) {
		part := h.part[2*k*m : (2*k+1)*m]
		clear(part)
		for i := sp.Lo; i < sp.Hi; i++ {
			e := &h.rows[i]
			e.axpy(part, e.dot(x)/h.r[i])
		}
	})
	h.fold(dst, 0)
	for j, v := range x {
		dst[j] = (h.k[j]+h.ground[j])*v - dst[j]
	}
}

// conjugate solves (D + Diag(ground)) x = −g to the relative precision given by conjugate
// gradients, preconditioned by the diagonal, and reports whether it converged within the given
// number of products.
func (h *hessian) conjugate(ctx context.Context, x, g []float64, precision float64, products int) (bool, error) {
	m := len(x)
	rhs, diag := make([]float64, m), make([]float64, m)
	for j, v := range g {
		rhs[j], diag[j] = -v, h.diag[j]+h.ground[j]
	}
	cg := laplacian.CG{Mul: h.mul, Diag: diag}
	_, residual, err := cg.Solve(ctx, x, rhs, precision, 0, products)
	return residual <= precision, err
}

// eliminate solves the same system by eliminating node after node without subtractions. n·m² + m³/2
// operations.
func (h *hessian) eliminate(ctx context.Context, x, g []float64) error {
	m := len(x)
	net := laplacian.Network{M: m, W: make([]float64, m*m), R: make([]float64, m), Ground: append([]float64(nil), h.ground...)}
	laplacian.Conductances(net.W, m, len(h.rows), func(i int) laplacian.Row {
		e := &h.rows[i]
		if e.dense() {
			return laplacian.Row{Val: e.val, Sum: h.r[i]}
		}
		return laplacian.Row{Idx: e.idx, Val: e.val, Sum: h.r[i]}
	})
	kern.Scale(net.R, -1, g)
	s, err := net.Eliminate(ctx)
	copy(x, s)
	return err
}
