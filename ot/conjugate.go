package ot

import (
	"context"
	"math"
)

// negligible is the share of its row and its column below which an entry of T is left out of products in CG: below
// the rounding of the sums.
const negligible = 1e-18

// sparse returns T over the entries that matter, or as passes over the plan where these are more than most, and the
// right-hand side (T∘V)ᵀ1 − Tᵀ((T∘V)1/T1).
func (p *Plan) sparse(v field, most int) (*hessian, []float64) {
	n, m := p.Dims()
	h := newHessian(n, m)
	rhs := make([]float64, m)
	h.ptr = append(h.ptr, 0)
	t, cost, logT, f := make([]float64, m), make([]float64, m), make([]float64, m), make([]float64, m)
	for i := range n {
		p.logRow(i, t, logT, cost)
		if v != nil && p.mass[i] > 0 {
			v(i, f, t, logT)
			centre(f, t, p.mass[i])
			for j, x := range f {
				rhs[j] += t[j] * x
			}
		}
		for j, x := range t {
			if x > 0 && (x >= negligible*p.mass[i] || x >= negligible*p.B[j]) {
				h.col[j] += x
				h.row[i] += x
				if h.free == nil {
					h.idx, h.val = append(h.idx, int32(j)), append(h.val, x)
				}
			}
		}
		h.ptr = append(h.ptr, len(h.idx))
		if len(h.idx) > most {
			h.free, h.idx, h.val = p, nil, nil
		}
	}
	return h, rhs
}

// laplacian writes D v = Diag(col) v − Tᵀ(T v / T1), in one pass over the plan.
func (p *Plan) laplacian(dst, v, col []float64) {
	if p.onDevice("a product", false, func(d *devicePlan) error { return d.laplacian(dst, v, col) }) {
		return
	}
	m := len(dst)
	sw := newSweep(p.g, 0)
	part := make([]float64, len(sw.spans)*m)
	sw.each(func(w *worker, k int, s span) {
		for i := s.lo; i < s.hi; i++ {
			if p.mass[i] > 0 {
				p.row(i, w.exp, w.cost)
				axpy(part[k*m:(k+1)*m], w.exp, dot(w.exp, v)/p.mass[i])
			}
		}
	})
	kern.Mul(dst, col, v)
	for k := range sw.spans {
		axpy(dst, part[k*m:(k+1)*m], -1)
	}
}

// conjugate solves D s = rhs to the residual tol, in the norm of the preconditioner and relative to rhs, or to scale
// where that is larger.
func (h *hessian) conjugate(ctx context.Context, rhs []float64, tol, scale float64, most int) ([]float64, float64, error) {
	s := make([]float64, len(rhs))
	var rz float64
	for j, c := range h.col {
		h.r[j], h.z[j] = 0, 0
		if c > 0 {
			h.r[j] = rhs[j]
			h.z[j] = rhs[j] / c
			rz += h.r[j] * h.z[j]
		}
	}
	if rz == 0 {
		return s, 0, nil
	}
	first := max(rz, scale*scale)
	copy(h.p, h.z)
	for it := 0; it < most && rz > first*tol*tol; it++ {
		if it%64 == 0 && ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		h.mul(h.w, h.p)
		curv := dot(h.p, h.w)
		if !(curv > 0) {
			break
		}
		step := rz / curv
		axpy(s, h.p, step)
		axpy(h.r, h.w, -step)
		next := 0.0
		for j, c := range h.col {
			if c > 0 {
				h.z[j] = h.r[j] / c
				next += h.r[j] * h.z[j]
			}
		}
		ratio := next / rz
		for j := range h.p {
			h.p[j] = h.z[j] + ratio*h.p[j]
		}
		rz = next
	}
	return s, math.Sqrt(rz / first), nil
}
