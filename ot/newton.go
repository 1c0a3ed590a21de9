package ot

import (
	"context"
	"math"
)

// Newton solves by truncated Newton steps on the semi-dual, for small ε, where T is nearly sparse, and for small Tol:
// the Hessian D/ε, D = Diag(Tᵀ1) − Tᵀ Diag(1/a) T, is taken over the entries of T that matter, and each step is found
// by conjugate gradients to a precision that follows the error. Where T is not sparse, or a step fails, L-BFGS and
// Sinkhorn steps take over. (Compare SSNS and SPLR of regOT: Tang and Qiu 2024; Wang et al. 2025.)
//
// The zero value with Eps set works. Memory: 20 bytes for each entry of T that is not negligible.
type Newton struct {
	// Eps is the ε > 0 of the problem, in units of cost.
	Eps float64
	// Tol stops when the L1 error of the marginals is at most Tol; 0 is 1e-9.
	Tol float64
	// MaxIter is the largest number of steps; 0 is 100,000.
	MaxIter int
	// Anneal in (0, 1] is the factor from one ε to the next, down to Eps from the spread of the costs; 0 is ¼, and 1
	// is no annealing.
	Anneal float64
	// Start holds KL potentials g of the m targets to start from (another plan's G); where they are good, annealing is skipped.
	Start []float64
	// Workers is the number of goroutines; 0 is GOMAXPROCS. The result does not depend on it.
	Workers int
	// Trace, where not nil, is called after every evaluation, from the goroutine that called Solve.
	Trace func(Step)
}

// newtonRegion is the L1 error below which Newton steps are taken. Measured on the timing problems: above it a step is
// cut short by newtonRadius more often than not, and L-BFGS gets on faster.
const newtonRegion = 3e-3

// newtonRadius is how far log T may rise in a step, counted from where T is all of its row or column, so that small
// entries may rise by more; what the model says of exponentials farther off is a guess.
// Conjugate gradients settle the stiff directions first, so stopping at the radius (Steihaug 1983) is what keeps
// blocks of atoms that hardly exchange mass from flying apart.
const newtonRadius = 3

// Solve returns the plan of p. Errors are for bad input and for a context that ended; a solve that did not reach Tol
// returns its plan with a Status that says so.
func (o Newton) Solve(ctx context.Context, p Problem) (*Plan, error) {
	c := controls{Eps: o.Eps, Tol: o.Tol, MaxIter: o.MaxIter, Anneal: o.Anneal, Start: o.Start, Workers: o.Workers, Trace: o.Trace}
	r, err := c.begin(ctx, p)
	if err != nil {
		return nil, err
	}
	q := newQuasiNewton(r, 20)
	if err := r.anneal(q.newtonStage); err != nil {
		return nil, err
	}
	return r.finish("newton"), nil
}

// newtonStage is quasiNewton.stage with Newton steps at the last ε.
func (q *quasiNewton) newtonStage(tol float64, last bool) error {
	if !last {
		return q.stage(tol, false)
	}
	if err := q.stage(max(tol, newtonRegion), false); err != nil {
		return err
	}
	if err := q.newtonPhase(tol); err != nil {
		return err
	}
	// What Newton left is for L-BFGS; as a rule nothing but the full pass that certifies the plan.
	return q.stage(tol, true)
}

// newtonPhase takes Newton steps until the error is at most tol or they no longer help.
func (q *quasiNewton) newtonPhase(tol float64) error {
	s := q.s
	s.sparse, s.share, s.noActive, s.act = true, 1, 0, nil
	defer func() { s.share = 0 }()
	h := newHessian(s.n, s.m)
	h.dense = s.m <= denseNewton
	for fails := 0; q.err > tol && q.iter < q.MaxIter; {
		if s.act == nil || s.act.eps != s.eps {
			if err := q.eval(q.beta, 1); err != nil {
				return err
			}
			if s.act == nil {
				return nil // too many entries
			}
		}
		q.iter++
		before := q.err
		if err := q.newtonStep(h); err != nil {
			return err
		}
		if q.err < 0.9*before {
			continue
		}
		if fails++; fails < 4 {
			continue
		}
		if h.dense || s.m > denseRescue {
			return nil
		}
		h.dense, fails = true, 0
	}
	return nil
}

const (
	// denseNewton is the number of targets up to which Newton systems are solved by elimination: as fast as conjugate
	// gradients there, and right however weakly the atoms are coupled.
	denseNewton = 256
	// denseRescue is the number up to which elimination is tried where conjugate gradients do not get on.
	denseRescue = 1024
)

// newtonStep moves along the Newton direction, or by a Sinkhorn step where that does not descend.
func (q *quasiNewton) newtonStep(h *hessian) error {
	s := q.s
	s.gradient(q.grad)
	if h.dense {
		h.take(s, 0)
		h.solveDense(q.dir, q.grad, s)
	} else {
		h.take(s, min(1e-5, 1e-3*q.err))
		h.solve(q.dir, q.grad, s.eps, max(1e-6, min(0.02, q.err)))
	}
	slope := dot(q.dir, q.grad)
	if !(slope < 0) {
		return q.sinkhornStep()
	}
	copy(q.oldGrad, q.grad)
	ok, err := q.search(slope, 1)
	if err == nil && !ok {
		s.gradient(q.grad)
		err = q.sinkhornStep()
	}
	return err
}

// hessian is D over the larger entries of T, with the marginals of those entries, so that it is a graph Laplacian
// whatever is left out.
type hessian struct {
	dense      bool // solve by elimination
	ptr        []int
	idx        []int32
	val        []float64
	share      []float64 // min(0, log max(T/a, T/b)): how much of its row or column the entry is
	row, col   []float64
	own        []float64 // the sums of the entries by column; col is that or more
	u, tx      []float64 // n: T v/T1 for the last product and for the solution
	r, z, p, w []float64 // m, scratch
}

func newHessian(n, m int) *hessian {
	v := func(k int) []float64 { return make([]float64, k) }
	return &hessian{row: v(n), col: v(m), own: v(m), u: v(n), tx: v(n), r: v(m), z: v(m), p: v(m), w: v(m)}
}

// take copies the entries with T_ij ≥ cut·aᵢ or ≥ cut·bⱼ from the active list.
func (h *hessian) take(s *semidual, cut float64) {
	h.ptr, h.idx, h.val = append(h.ptr[:0], 0), h.idx[:0], h.val[:0]
	h.share = h.share[:0]
	clear(h.col)
	for k, r := range s.sw.spans {
		sp := &s.act.spans[k]
		for i := r.lo; i < r.hi; i++ {
			w := sp.w[i-r.lo]
			var sum float64
			for l := sp.ptr[i-r.lo]; l < sp.ptr[i-r.lo+1]; l++ {
				t, j := w*sp.val[l], sp.idx[l]
				if t >= cut*s.a[i] || t >= cut*s.b[j] {
					h.idx, h.val = append(h.idx, j), append(h.val, t)
					h.col[j] += t
					h.share = append(h.share, min(0, math.Log(max(t/s.a[i], t/s.b[j]))))
					sum += t
				}
			}
			h.row[i] = sum
			h.ptr = append(h.ptr, len(h.idx))
		}
	}
	// A column that is far short of its mass has hardly any curvature, and a Newton step would send its potential to
	// the moon; the curvature it will have when it is right is a bound that tends to D as the columns get right.
	copy(h.own, h.col)
	for j, b := range s.b {
		if h.col[j] < b && s.col[j] < b {
			h.col[j] += b - s.col[j]
		}
	}
}

// mul writes D v.
func (h *hessian) mul(dst, v []float64) {
	for j, c := range h.col {
		dst[j] = c * v[j]
	}
	for i, r := range h.row {
		p, q := h.ptr[i], h.ptr[i+1]
		if p == q {
			continue
		}
		idx, val := h.idx[p:q], h.val[p:q]
		var t float64
		for l, j := range idx {
			t += val[l] * v[j]
		}
		t /= r
		h.u[i] = t
		for l, j := range idx {
			dst[j] -= val[l] * t
		}
	}
}

// rise returns how far log T rises, as newtonRadius counts, when β moves by x and α follows; a fall counts a fifth.
func (h *hessian) rise(x []float64, eps float64) float64 {
	var most float64
	for i, t := range h.tx {
		for l := h.ptr[i]; l < h.ptr[i+1]; l++ {
			d := (x[h.idx[l]] - t) / eps
			if d > 0 {
				d += h.share[l]
			} else {
				d /= -5
			}
			most = max(most, d)
		}
	}
	return most
}

// solve writes dst = −ε D⁺ g to the relative precision given, by conjugate gradients with the column sums for a
// preconditioner, or to newtonRadius. D is singular along the constants, of which conjugate gradients started from 0 stay
// clear, and nearly so where the entries left out cut the graph.
func (h *hessian) solve(dst, g []float64, eps, precision float64) {
	clear(dst)
	clear(h.tx)
	clear(h.u)
	var rz float64
	for j, c := range h.col {
		h.r[j], h.z[j] = 0, 0
		if c > 0 {
			h.r[j] = -eps * g[j]
			h.z[j] = h.r[j] / c
			rz += h.r[j] * h.z[j]
		}
	}
	copy(h.p, h.z)
	goal := rz * precision * precision
	for it := 0; it < 1000 && rz > goal; it++ {
		h.mul(h.w, h.p)
		curv := dot(h.p, h.w)
		if !(curv > 1e-14*rz) {
			if it == 0 {
				copy(dst, h.p)
			}
			return
		}
		step := rz / curv
		axpy(dst, h.p, step)
		axpy(h.tx, h.u, step)
		if (it < 4 || it%8 == 0) && h.rise(dst, eps) > newtonRadius {
			return
		}
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
}

// solveDense writes dst = −ε (D + μ Diag(b))⁻¹ g by elimination, with the least of a few μ that keeps the rise of log T
// within newtonRadius (Levenberg 1944): in exact arithmetic μ = 0 near the solution.
func (h *hessian) solveDense(dst, g []float64, s *semidual) {
	m := len(dst)
	w := h.conductances(m)
	for mu := 0.0; mu <= 1; mu = max(mu*100, 1e-14) {
		net := network{m: m, w: append([]float64(nil), w...), r: make([]float64, m), ground: make([]float64, m)}
		for j, b := range s.b {
			net.r[j] = -s.eps * g[j]
			net.ground[j] = mu * b
			if b == 0 {
				net.r[j] = 0
			}
			// As in take: the curvature that a column short of its mass will have.
			net.ground[j] += max(0, h.col[j]-h.own[j])
		}
		copy(dst, net.eliminate())
		h.follow(dst)
		if h.rise(dst, s.eps) <= newtonRadius {
			return
		}
	}
}

// conductances returns the upper triangle of W over the entries.
func (h *hessian) conductances(m int) []float64 {
	w := make([]float64, m*m)
	for i, r := range h.row {
		for p := h.ptr[i]; p < h.ptr[i+1]; p++ {
			j, f := int(h.idx[p]), h.val[p]/r
			for q := p + 1; q < h.ptr[i+1]; q++ {
				w[j*m+int(h.idx[q])] += f * h.val[q]
			}
		}
	}
	return w
}

// follow sets tx to T x / T1.
func (h *hessian) follow(x []float64) {
	for i, r := range h.row {
		var t float64
		for p := h.ptr[i]; p < h.ptr[i+1]; p++ {
			t += h.val[p] * x[h.idx[p]]
		}
		h.tx[i] = 0
		if r > 0 {
			h.tx[i] = t / r
		}
	}
}
