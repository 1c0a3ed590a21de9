package derivative

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"coupling/lab/logspace"
	"coupling/ot/internal/laplacian"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
	"coupling/ot/internal/transport"
)

// newtonRadius is how far log T may rise in a step above the value at which T is all of its row or
// column, so that small entries may rise by more; beyond it the quadratic model of the exponentials
// is unreliable. Conjugate gradients resolve the stiff directions first, so stopping at the radius
// (Steihaug 1983) bounds the relative move of blocks of atoms that hardly exchange mass.
const newtonRadius = 3

// Hessian is D over the larger entries of T, with the marginals of those entries, so that it is a
// graph Laplacian whichever entries are left out.
type Hessian struct {
	Dense bool            // solve by elimination
	full  []float64       // the plan itself, n×m, where its entries are not listed
	sw    *semidual.Sweep // of its rows
	// products take passes over this plan, since its entries are too many to hold; nil where they
	// are held
	MatrixFree  *transport.Plan
	rows        []laplacian.Row
	idx         []int32 // of the rows of assemble, one after the other
	val         []float64
	lists       []entries // of the rows of system
	logFraction []float64 // min(0, log max(T/a, T/b)): the entry's share of its row or column
	Col         []float64
	own         []float64 // the sums of the entries by column; col is that or more
	u, tx       []float64 // n: T v/T1 for the last product and for the solution
	rhs         []float64 // m, scratch
	cg          laplacian.CG
}

// NewHessian returns D of n sources and m targets, in the memory of the one before.
func NewHessian(n, m int, mem *semidual.Memory) *Hessian {
	v := func(k int) []float64 { return make([]float64, k) }
	h := semidual.Keep(mem, func() *Hessian {
		return &Hessian{rows: make([]laplacian.Row, n), Col: v(m), own: v(m), u: v(n), tx: v(n), rhs: v(m)}
	})
	h.Dense, h.full, h.MatrixFree = false, nil, nil
	return h
}

// Assemble copies the entries with T_ij ≥ cut·aᵢ or ≥ cut·bⱼ from the list.
func (h *Hessian) Assemble(s *semidual.Function, cut float64) {
	h.idx, h.val, h.logFraction = h.idx[:0], h.val[:0], h.logFraction[:0]
	clear(h.Col)
	ends := make([]int, s.N)
	s.List().EachRow(s, func(i int, idx []int32, val []float64, u float64, v []float64) {
		var sum float64
		for l, j := range idx {
			t := u * val[l] * v[j]
			if t >= cut*s.A[i] || t >= cut*s.B[j] {
				h.idx, h.val = append(h.idx, j), append(h.val, t)
				h.Col[j] += t
				h.logFraction = append(h.logFraction, min(0, logspace.Log(max(t/s.A[i], t/s.B[j]))))
				sum += t
			}
		}
		h.rows[i].Sum, ends[i] = sum, len(h.idx)
	})
	at := 0
	for i, end := range ends {
		h.rows[i].Idx, h.rows[i].Val, at = h.idx[at:end], h.val[at:end], end
	}
	// A column far short of its mass has hardly any curvature, and the Newton step is unbounded
	// there. The curvature at its full mass is a bound that tends to D as the columns converge.
	copy(h.own, h.Col)
	for j, b := range s.B {
		if h.Col[j] < b && s.Col[j] < b {
			h.Col[j] += b - s.Col[j]
		}
	}
}

// Mul writes D v.
func (h *Hessian) Mul(dst, v []float64) {
	switch {
	case h.MatrixFree != nil:
		h.MatrixFree.Laplacian(dst, v, h.Col)
		return
	case h.full != nil:
		h.products(dst, v)
		return
	}
	for j, c := range h.Col {
		dst[j] = c * v[j]
	}
	for i := range h.rows {
		if r := &h.rows[i]; r.Sum > 0 {
			h.u[i] = r.Dot(v) / r.Sum
			r.Axpy(dst, -h.u[i])
		}
	}
}

// products is mul with the plan held as a matrix, four rows at a time: they stay in cache from one
// product to the other.
func (h *Hessian) products(dst, v []float64) {
	m := len(v)
	h.sw.Columns(dst, func(_ *semidual.Worker, _ int, r rows.Span, sum []float64) {
		var four [4]float64
		for lo := r.Lo; lo < r.Hi; lo += len(four) {
			hi := min(r.Hi, lo+len(four))
			w, rows := four[:hi-lo], h.full[lo*m:hi*m]
			kern.Gemv(w, rows, m, v)
			for l := range w {
				if h.rows[lo+l].Sum > 0 {
					w[l] /= h.rows[lo+l].Sum
				}
			}
			kern.GemvT(sum, rows, m, w)
		}
	})
	for j, c := range h.Col {
		dst[j] = c*v[j] - dst[j]
	}
}

// maxLogIncrease returns how far log T rises, as newtonRadius counts, when β moves by x and α
// follows; a fall counts a fifth.
func (h *Hessian) maxLogIncrease(x []float64, eps float64) float64 {
	var most float64
	l := 0
	for i, t := range h.tx {
		for _, j := range h.rows[i].Idx {
			d := (x[j] - t) / eps
			if d > 0 {
				d += h.logFraction[l]
			} else {
				d /= -5
			}
			most = max(most, d)
			l++
		}
	}
	return most
}

// Solve writes dst = −ε D⁺ g to the relative precision given, or to an L1 error of tol/4, by
// conjugate gradients with the column sums for a preconditioner, or to newtonRadius. (The residual
// is in the norm of the preconditioner, which bounds the L1 norm since columns sum to at most 1.) D
// is singular along the constants, which conjugate gradients started from 0 never enter, and nearly
// singular where leaving out entries cuts the graph. Where nothing has curvature, dst is 0.
func (h *Hessian) Solve(ctx context.Context, dst, g []float64, eps, precision, tol float64) error {
	clear(h.tx)
	clear(h.u)
	h.cg.Mul, h.cg.Diag = h.Mul, h.Col
	h.cg.Stop = func(it int, step float64, x []float64) bool {
		kern.Axpy(h.tx, step, h.u)
		return (it < 4 || it%8 == 0) && h.maxLogIncrease(x, eps) > newtonRadius
	}
	kern.Scale(h.rhs, -eps, g)
	_, _, err := h.cg.Solve(ctx, dst, h.rhs, precision, eps*tol/4/precision, 1000)
	return err
}

// SolveDense writes dst = −ε (D + μ Diag(b))⁻¹ g by elimination, with the smallest of a few μ that
// keeps the rise of log T within newtonRadius (Levenberg 1944), and moves, which are free where
// nothing is coupled, within reach: in exact arithmetic μ = 0 near the solution.
func (h *Hessian) SolveDense(ctx context.Context, dst, g []float64, s *semidual.Function) error {
	m := len(dst)
	w := h.conductances(m)
	// The net current is rounding. It would flow to ground through conductances that may be 1e-40,
	// and so shift all potentials until their differences are lost.
	excess := kern.Sum(g)
	for mu := 0.0; mu <= 1; mu = max(mu*100, 1e-14) {
		net := laplacian.Network{
			M:      m,
			W:      slices.Clone(w),
			R:      make([]float64, m),
			Ground: make([]float64, m),
		}
		for j, b := range s.B {
			net.R[j] = -s.Eps * (g[j] - excess*s.B[j])
			net.Ground[j] = mu * b
			if b == 0 {
				net.R[j] = 0
			}
			// As in assemble: the curvature of a column at its full mass.
			net.Ground[j] += max(0, h.Col[j]-h.own[j])
		}
		x, err := net.Eliminate(ctx)
		if err != nil {
			return err
		}
		copy(dst, x)
		for range 2 { // the second mean is the rounding of the first
			rows.Shift(dst, -rows.Dot(s.B, dst))
		}
		h.sourceStep(dst)
		if h.maxLogIncrease(dst, s.Eps) <= newtonRadius && floats.Norm(dst, math.Inf(1)) <= s.Reach(s.Eps) {
			break
		}
	}
	return nil
}

// conductances returns the upper triangle of W over the entries.
func (h *Hessian) conductances(m int) []float64 {
	w := make([]float64, m*m)
	laplacian.Conductances(w, m, len(h.rows), func(i int) laplacian.Row {
		r := h.rows[i]
		if len(r.Idx) == m {
			r.Idx = nil
		}
		return r
	})
	return w
}

// sourceStep sets tx to T x / T1.
func (h *Hessian) sourceStep(x []float64) {
	for i := range h.rows {
		h.tx[i] = 0
		if r := &h.rows[i]; r.Sum > 0 {
			h.tx[i] = r.Dot(x) / r.Sum
		}
	}
}
