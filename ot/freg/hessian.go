package freg

import (
	"context"
	"slices"

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
	k      []float64
	rows   []laplacian.Row
	diag   []float64 // of D
	ones   []float64
}

func newHessian(s *semidual) *hessian {
	n, m := len(s.a), len(s.b)
	return &hessian{
		s: s, ground: make([]float64, m), k: make([]float64, m), rows: make([]laplacian.Row, n),
		diag: make([]float64, m), ones: slices.Repeat([]float64{1}, m),
	}
}

// assemble makes K at the ψ of the last eval, whose rows it recomputes. It leaves out entries that
// are less than cut of both their row and the column's weight; D remains a Laplacian.
func (h *hessian) assemble(psi []float64, mu, short, cut float64) {
	s, m := h.s, len(h.s.b)
	one := s.f.slope(1)
	for j, b := range s.b {
		h.ground[j] = one * (mu*b + short*max(0, b-s.col[j]))
	}
	sums := make([]float64, 2*m)
	s.sw.Columns(sums, func(r *row, _ int, sp rows.Span, sum []float64) {
		col, sq := sum[:m], sum[m:]
		for i := sp.Lo; i < sp.Hi; i++ {
			s.recomputeRow(r, i, psi)
			e := &h.rows[i]
			h.assembleRow(e, r, s.a[i], cut)
			inv := 1 / e.Sum
			if len(e.Idx) == 0 {
				kern.Axpy(col, 1, e.Val)
				rows.Less(r.p, e.Val, e.Sum)
				kern.Mul(r.p, r.p, e.Val)
				kern.Axpy(sq, -inv, r.p)
			}
			for l, j := range e.Idx {
				v := e.Val[l]
				col[j] += v
				sq[j] += v * ((e.Sum - v) * inv)
			}
		}
	})
	copy(h.k, sums[:m])
	copy(h.diag, sums[m:])
}

// assembleRow writes the row that r holds, of a source of weight a, to e: all of it, or a list of the entries that cut
// leaves where most are left out.
func (h *hessian) assembleRow(e *laplacian.Row, r *row, a, cut float64) {
	w, f, b := r.p, h.s.f, h.s.b // p is no longer needed
	r.curvatures(w, f, a, b)
	e.Sum = kern.Sum(w)
	rowCut, colCut := cut*e.Sum, cut*f.slope(1)
	if m := float64(len(w)); 3*(m-kern.Below(r.e, h.ones, w, rowCut)) > m { // faster than a list unless most are zero
		e.Idx, e.Val = e.Idx[:0], append(e.Val[:0], w...)
		return
	}
	e.Idx, e.Val = slices.Grow(e.Idx[:0], len(w))[:len(w)], slices.Grow(e.Val[:0], len(w))[:len(w)]
	k := 0
	for j, v := range w {
		e.Idx[k], e.Val[k] = int32(j), v
		k += int(below(0-v) &^ (below(v-rowCut) & below(v-colCut*b[j])) & 1)
	}
	e.Idx, e.Val = e.Idx[:k], e.Val[:k]
	e.Sum = kern.Sum(e.Val)
}

// mul writes (D + Diag(ground)) x.
func (h *hessian) mul(dst, x []float64) {
	h.s.sw.Columns(dst, func(_ *row, _ int, sp rows.Span, sum []float64) {
		for i := sp.Lo; i < sp.Hi; i++ {
			e := &h.rows[i]
			e.Axpy(sum, e.Dot(x)/e.Sum)
		}
	})
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
	net := laplacian.Network{
		M:      m,
		W:      make([]float64, m*m),
		R:      make([]float64, m),
		Ground: append([]float64(nil), h.ground...),
	}
	laplacian.Conductances(net.W, m, len(h.rows), func(i int) laplacian.Row { return h.rows[i] })
	kern.Scale(net.R, -1, g)
	s, err := net.Eliminate(ctx)
	copy(x, s)
	return err
}
