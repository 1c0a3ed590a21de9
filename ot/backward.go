package ot

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Method is a way of solving the linear system of a derivative.
type Method int

const (
	// Automatic is Eliminate for up to 128 atoms on the smaller side. Above, it is CG, which is many times faster as
	// a rule, and where CG has not converged in 1000 iterations, Cholesky for up to 2048.
	Automatic Method = iota
	// Eliminate is the subtraction-free elimination: accurate to a few units in the last place whatever the plan.
	// n·m² + m³/2 multiplications, 2n·m + 2m² memory.
	Eliminate
	// Cholesky factors D where its pivots are not weak, and falls back on Eliminate where they are.
	Cholesky
	// CG is conjugate gradients with products by T only: two passes over the entries of T that matter an iteration.
	CG
)

// String returns the name of the method.
func (m Method) String() string {
	switch m {
	case Automatic:
		return "automatic"
	case Eliminate:
		return "eliminate"
	case Cholesky:
		return "cholesky"
	case CG:
		return "cg"
	}
	return fmt.Sprintf("Method(%d)", int(m))
}

// Backward is how derivatives of a plan are computed. Its zero value works, and is what the methods of Plan use.
type Backward struct {
	// Method solves the linear system.
	Method Method
	// Tol is the relative residual at which CG stops; 0 is 1e-13.
	Tol float64
	// MaxIter is the largest number of CG iterations; 0 is 10 m + 1000.
	MaxIter int
}

// adjoint solves Diag(T1) u + T v = (T∘V)1, Tᵀu + Diag(Tᵀ1) v = (T∘V)ᵀ1 + q (q may be nil) for the field V, which is
// made row by row. What it returns of u is relative to the row mean of V, so that
//
//	uᵢ + vⱼ − V_ij = centredᵢ + vⱼ − (V_ij − V̄ᵢ),   V̄ᵢ = Σⱼ T_ij V_ij / (T1)ᵢ,   centredᵢ = −Σⱼ T_ij vⱼ / (T1)ᵢ,
//
// which loses nothing to a large V.
type adjoint struct {
	p      *Plan
	v      []float64
	method Method
	status Status
	resid  float64
}

// field writes row i of V, given row i of T and of log T (relative to the row's largest, 0 where T is 0 for want of
// weight).
type field func(i int, dst, t, logT []float64)

// solve solves for the field V (nil: 0) and the node currents q (nil: 0).
func (b Backward) solve(ctx context.Context, p *Plan, v field, q []float64) (*adjoint, error) {
	n, m := p.Dims()
	method := b.Method
	if method < Automatic || method > CG {
		return nil, bad(ErrParameter, "Backward.Method = %d: unknown", int(method))
	}
	small := min(n, m)
	if method == Automatic {
		if small > eliminateMost {
			return b.automatic(ctx, p, v, q)
		}
		method = Eliminate
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if method == CG {
		return b.iterate(ctx, p, v, q)
	}
	return direct(p, v, q, method), nil
}

const (
	eliminateMost = 128  // atoms up to which Automatic eliminates
	choleskyMost  = 2048 // atoms up to which it falls back on a factor
)

// automatic tries conjugate gradients, and factors where they are slow.
func (b Backward) automatic(ctx context.Context, p *Plan, v field, q []float64) (*adjoint, error) {
	n, m := p.Dims()
	try := Backward{Method: CG, Tol: b.Tol, MaxIter: b.MaxIter}
	if try.MaxIter == 0 && min(n, m) <= choleskyMost {
		try.MaxIter = 1000
	}
	out, err := try.iterate(ctx, p, v, q)
	if err != nil || out.status == Converged || min(n, m) > choleskyMost {
		return out, err
	}
	return direct(p, v, q, Cholesky), nil
}

// direct assembles the network on the side with fewer atoms and solves it.
func direct(p *Plan, v field, q []float64, method Method) *adjoint {
	n, m := p.Dims()
	t := make([]float64, n*m)
	var f []float64
	if v != nil {
		f = make([]float64, n*m)
	}
	p.eachLog(func(i int, ti, logT []float64) {
		copy(t[i*m:], ti)
		if v != nil {
			v(i, f[i*m:(i+1)*m], ti, logT)
			centre(f[i*m:(i+1)*m], ti, p.mass[i])
		}
	})
	if n < m {
		return directTransposed(p, t, f, q, method)
	}
	net := assemble(t, f, p.mass, m)
	if q != nil {
		net.r = append([]float64(nil), q...)
	}
	s, used := net.solve(method)
	return &adjoint{p: p, v: s, method: used, status: Converged}
}

// solve uses Cholesky if asked to and trustworthy, else elimination.
func (n *network) solve(method Method) ([]float64, Method) {
	if method == Cholesky {
		if s, ok := n.cholesky(); ok {
			return s, Cholesky
		}
	}
	return n.eliminate(), Eliminate
}

// directTransposed solves for u on the network of the sources, and then has v from the columns.
func directTransposed(p *Plan, t, f, q []float64, method Method) *adjoint {
	n, m := p.Dims()
	tt, ft, col := make([]float64, n*m), []float64(nil), make([]float64, m)
	for i := range n {
		for j := range m {
			tt[j*n+i] = t[i*m+j]
			col[j] += t[i*m+j]
		}
	}
	mean := make([]float64, m) // of V by column, and the current fed to the column
	if f != nil {
		ft = make([]float64, n*m)
		for j := range m {
			for i := range n {
				ft[j*n+i] = f[i*m+j]
			}
			mean[j] = centre(ft[j*n:(j+1)*n], tt[j*n:(j+1)*n], col[j])
		}
	}
	var r []float64
	if q != nil {
		r = make([]float64, n)
		for j, c := range col {
			if c > 0 {
				mean[j] += q[j] / c
				axpy(r, tt[j*n:(j+1)*n], -q[j]/c)
			}
		}
	}
	plain := append([]float64(nil), tt...)
	net := assemble(tt, ft, col, n)
	net.r = r
	u, used := net.solve(method)
	v := make([]float64, m)
	for j, c := range col {
		if c > 0 {
			v[j] = mean[j] - dot(plain[j*n:(j+1)*n], u)/c
		}
	}
	return &adjoint{p: p, v: v, method: used, status: Converged}
}

// centre subtracts the mean of v under t from v and returns it; mass is the sum of t.
func centre(v, t []float64, mass float64) float64 {
	if mass == 0 {
		clear(v)
		return 0
	}
	// Twice: the second mean is the rounding of the first.
	var total float64
	for range 2 {
		mean := dot(v, t) / mass
		for j := range v {
			v[j] -= mean
		}
		total += mean
	}
	return total
}

// iterate solves by conjugate gradients over the entries of T that matter, preconditioned by the column sums.
func (b Backward) iterate(ctx context.Context, p *Plan, v field, q []float64) (*adjoint, error) {
	_, m := p.Dims()
	tol, most := b.Tol, b.MaxIter
	if math.IsNaN(tol) || tol < 0 || tol >= 1 {
		return nil, bad(ErrParameter, "Backward.Tol = %g: must be in [0, 1) (0 is 1e-13)", tol)
	}
	if most < 0 {
		return nil, bad(ErrParameter, "Backward.MaxIter = %d: must be ≥ 0", most)
	}
	if tol == 0 {
		tol = 1e-13
	}
	if most == 0 {
		most = 10*m + 1000
	}
	h, rhs := p.sparse(v)
	if q != nil {
		axpy(rhs, q, 1)
	}
	s, resid, err := h.conjugate(ctx, rhs, tol, most)
	if err != nil {
		return nil, err
	}
	out := &adjoint{p: p, v: s, method: CG, status: Converged, resid: resid}
	if resid > tol {
		out.status = IterationLimit
	}
	return out, nil
}

// negligible is the share of its row and its column below which an entry of T is left out of products in CG: below
// the rounding of the sums.
const negligible = 1e-18

// sparse returns T over the entries that matter and the right-hand side (T∘V)ᵀ1 − Tᵀ((T∘V)1/T1).
func (p *Plan) sparse(v field) (*hessian, []float64) {
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
				h.idx, h.val = append(h.idx, int32(j)), append(h.val, x)
				h.col[j] += x
				h.row[i] += x
			}
		}
		h.ptr = append(h.ptr, len(h.idx))
	}
	return h, rhs
}

// conjugate solves D s = rhs to the relative residual tol in the norm of the preconditioner.
func (h *hessian) conjugate(ctx context.Context, rhs []float64, tol float64, most int) ([]float64, float64, error) {
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
	first := rz
	if first == 0 {
		return s, 0, nil
	}
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

// logRow writes row i of T and of log T relative to the row's largest entry, and returns the largest β−c of the row.
func (p *Plan) logRow(i int, t, logT, cost []float64) (mx float64) {
	c := p.g.Row(i, cost)
	mx = math.Inf(-1)
	for j, b := range p.beta {
		logT[j] = b - c[j]
		mx = max(mx, logT[j])
	}
	for j, v := range logT {
		if p.B[j] == 0 {
			logT[j], t[j] = 0, math.Inf(-1)
			continue
		}
		logT[j] = (v - mx) / p.Eps
		t[j] = logT[j]
	}
	sum := expRow(t, 0, 1)
	w := p.mass[i] / sum
	for j := range t {
		t[j] *= w
	}
	return mx
}

// eachLog calls f with every row of T and of log T, from several goroutines.
func (p *Plan) eachLog(f func(i int, t, logT []float64)) {
	_, m := p.Dims()
	newSweep(p.g, 0).each(func(w *worker, _ int, s span) {
		logT := make([]float64, m)
		for i := s.lo; i < s.hi; i++ {
			p.logRow(i, w.exp, logT, w.cost)
			f(i, w.exp, logT)
		}
	})
}

// derivative writes row i of (u ⊕ v − V) for the field V: what multiplies T/ε in a derivative with respect to the cost.
func (a *adjoint) derivative(i int, dst, t, logT []float64, v field) {
	mass := a.p.mass[i]
	if mass == 0 {
		clear(dst)
		return
	}
	v(i, dst, t, logT)
	for j, s := range a.v {
		dst[j] = s - dst[j]
	}
	centre(dst, t, mass)
}

// VJP is the derivative of a function ℓ(T) through the plan.
type VJP struct {
	// Cost is ∂ℓ/∂c, n×m.
	Cost *mat.Dense
	// A and B are ∂ℓ/∂a and ∂ℓ/∂b, each up to a constant (mass stays 1); <A,a> = <B,b>.
	A, B []float64
	// Method solved the system; Status and Residual (CG) say how well.
	Method   Method
	Status   Status
	Residual float64
}

// VJP returns the vector–Jacobian product of the plan: for v = ∂ℓ/∂T, n×m, the derivatives of ℓ with respect to the
// costs and the weights, by implicit differentiation. With u, s the solution of Diag(T1)u + Ts = (T∘v)1,
// Tᵀu + Diag(Tᵀ1)s = (T∘v)ᵀ1:
//
//	∂ℓ/∂c = T∘(u ⊕ s − v)/ε,   ∂ℓ/∂a = u,   ∂ℓ/∂b = s.
//
// The weights' derivatives are 0 where the weight is 0.
func (b Backward) VJP(ctx context.Context, p *Plan, v *mat.Dense) (*VJP, error) {
	n, m := p.Dims()
	if err := wantDims("VJP: v", v, n, m); err != nil {
		return nil, err
	}
	row := func(i int, dst, _, _ []float64) { copy(dst, v.RawRowView(i)) }
	ad, err := b.solve(ctx, p, row, nil)
	if err != nil {
		return nil, err
	}
	out := &VJP{Cost: mat.NewDense(n, m, nil), A: make([]float64, n), B: ad.v, Method: ad.method, Status: ad.status, Residual: ad.resid}
	p.eachLog(func(i int, t, logT []float64) {
		dst := out.Cost.RawRowView(i)
		if p.mass[i] > 0 {
			for j, x := range v.RawRowView(i) {
				out.A[i] += t[j] * (x - ad.v[j])
			}
			out.A[i] /= p.mass[i]
		}
		ad.derivative(i, dst, t, logT, row)
		for j := range dst {
			dst[j] *= t[j] / p.Eps
		}
	})
	for j, w := range p.B {
		if w == 0 {
			out.B[j] = 0
		}
	}
	balance(p.A, out.A, p.B, out.B)
	return out, nil
}

// JVP returns the Jacobian–vector product of the plan: the change dT (n×m) of T for a change dc of the costs (n×m) and
// da, db of the weights; nil is no change. The changes of the weights must each sum to 0 and vanish where the weight
// does.
//
//	dT = T∘(u ⊕ v − dc/ε),  Diag(T1)u + Tv = (T∘dc)1/ε + da,  Tᵀu + Diag(Tᵀ1)v = (T∘dc)ᵀ1/ε + db.
func (b Backward) JVP(ctx context.Context, p *Plan, dc *mat.Dense, da, db []float64) (*mat.Dense, error) {
	n, m := p.Dims()
	var v field
	zero := func(_ int, dst, _, _ []float64) { clear(dst) }
	row := field(zero)
	if dc != nil {
		if err := wantDims("JVP: dc", dc, n, m); err != nil {
			return nil, err
		}
		row = func(i int, dst, _, _ []float64) { copy(dst, dc.RawRowView(i)) }
		v = row
	}
	q, err := p.injections(da, db)
	if err != nil {
		return nil, err
	}
	ad, err := b.solve(ctx, p, v, q)
	if err != nil {
		return nil, err
	}
	if ad.status != Converged {
		return nil, fmt.Errorf("ot: JVP: conjugate gradients stopped at relative residual %g", ad.resid)
	}
	out := mat.NewDense(n, m, nil)
	p.eachLog(func(i int, t, logT []float64) {
		dst := out.RawRowView(i)
		ad.derivative(i, dst, t, logT, row)
		var u float64
		if da != nil && p.mass[i] > 0 {
			u = p.Eps * da[i] / p.mass[i]
		}
		for j := range dst {
			dst[j] = (dst[j] + u) * t[j] / p.Eps
		}
	})
	return out, nil
}

// injections returns ε (db − Tᵀ(da/T1)), the currents that changes of the weights feed into the targets.
func (p *Plan) injections(da, db []float64) ([]float64, error) {
	if da == nil && db == nil {
		return nil, nil
	}
	q := make([]float64, len(p.B))
	if err := checkChange("JVP: da", da, p.A); err != nil {
		return nil, err
	}
	if err := checkChange("JVP: db", db, p.B); err != nil {
		return nil, err
	}
	if da != nil {
		u := make([]float64, len(p.A))
		for i, d := range da {
			if p.mass[i] > 0 {
				u[i] = -p.Eps * d / p.mass[i]
			}
		}
		copy(q, p.ApplyT(u))
	}
	axpyMaybe(q, db, p.Eps)
	return q, nil
}

func axpyMaybe(dst, x []float64, w float64) {
	if x != nil {
		axpy(dst, x, w)
	}
}

// checkChange reports a change of weights that is not one.
func checkChange(name string, d, w []float64) error {
	if d == nil {
		return nil
	}
	if len(d) != len(w) {
		return bad(ErrShape, "%s has %d entries for %d weights", name, len(d), len(w))
	}
	var sum, abs float64
	for i, v := range d {
		if v-v != 0 {
			return bad(ErrWeights, "%s[%d] = %g: must be finite", name, i, v)
		}
		if w[i] == 0 && v != 0 {
			return bad(ErrWeights, "%s[%d] = %g: must be 0 where the weight is 0", name, i, v)
		}
		sum += v
		abs += math.Abs(v)
	}
	if math.Abs(sum) > 1e-10*abs {
		return bad(ErrWeights, "%s sums to %g: must be 0", name, sum)
	}
	return nil
}

// wantDims reports a matrix of the wrong size.
func wantDims(name string, v *mat.Dense, n, m int) error {
	if v == nil {
		return bad(ErrShape, "%s is nil, want %d×%d", name, n, m)
	}
	if r, c := v.Dims(); r != n || c != m {
		return bad(ErrShape, "%s is %d×%d, want %d×%d", name, r, c, n, m)
	}
	return nil
}

// balance shifts u and v oppositely so that <a,u> = <b,v>.
func balance(a, u, b, v []float64) {
	d := (dotPositive(a, u) - dotPositive(b, v)) / 2
	shift(u, -d)
	shift(v, d)
}
