package ot

import (
	"cmp"
	"context"
	"math"

	"coupling/ot/internal/fault"
	"coupling/ot/internal/laplacian"
	"coupling/ot/internal/rows"
)

// Method is a way of solving the linear system of a derivative.
type Method int

const (
	// Automatic is Eliminate for up to 128 atoms on the smaller side. Above, it is CG, which is
	// usually many times faster, followed by Cholesky, for up to 2048 atoms, if CG has not
	// converged in 1000 iterations.
	Automatic Method = iota
	// Eliminate is the subtraction-free elimination: accurate to a few units in the last place whatever the plan.
	// n·m² + m³/2 multiplications, 2n·m + 2m² memory.
	Eliminate
	// Cholesky factors D, and falls back on Eliminate if a pivot is too small to be trusted.
	Cholesky
	// CG is conjugate gradients with products by T only: two passes an iteration over the entries
	// of T that are not negligible.
	CG
)

// String returns the name of the method.
func (m Method) String() string {
	return fault.Name("Method", int(m), "automatic", "eliminate", "cholesky", "cg")
}

// Backward says how derivatives of a plan are computed. Its zero value works; the methods of Plan
// use it.
type Backward struct {
	// Method solves the linear system.
	Method Method
	// Tol is the relative residual at which CG stops; 0 is a hundredth of the plan's MarginalL1, from 1e-13 to 1e-6: no
	// gradient is better than its plan.
	Tol float64
	// MaxIter is the largest number of CG iterations; 0 is 10·m + 1000.
	MaxIter int
}

// adjoint solves Diag(T1) u + T v = (T∘V)1, Tᵀu + Diag(Tᵀ1) v = (T∘V)ᵀ1 for the
// field V, which is made row by row. It returns u relative to the row means of V, as centred:
//
//	uᵢ + vⱼ − V_ij = centredᵢ + vⱼ − (V_ij − V̄ᵢ),   V̄ᵢ = Σⱼ T_ij V_ij / (T1)ᵢ,   centredᵢ = −Σⱼ T_ij vⱼ / (T1)ᵢ,
//
// so that a large V costs no precision.
type adjoint struct {
	p      *Plan
	v      []float64
	base   []float64 // where not nil, v solves for the field V less base in every row
	method Method
	status Status
	resid  float64
}

// field writes row i of V, given row i of T and of log T (relative to the row's largest entry; 0
// where T is 0 because a weight is 0).
type field func(i int, dst, t, logT []float64)

// solve solves for the field V. The residual of CG is
// relative to the larger of the right-hand side and scale.
func (b Backward) solve(ctx context.Context, p *Plan, v field, scale float64) (*adjoint, error) {
	n, m := p.Dims()
	method := b.Method
	small := min(n, m)
	if method == Automatic {
		if small > maxEliminate || n > maxDirect/m {
			return b.automatic(ctx, p, v, scale)
		}
		method = Eliminate
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if method == CG {
		return b.iterate(ctx, p, v, scale)
	}
	return direct(ctx, p, v, method)
}

// check reports settings out of range and plans that have no derivative.
func (b Backward) check(p *Plan) error {
	switch {
	case p.g == nil:
		return bad(ErrUnsupported, "derivative of a plan that no solver made: make plans by NewPlan")
	case p.unbalanced:
		return bad(ErrUnsupported, "derivative of an unbalanced plan: only balanced plans are differentiated")
	case b.Method < Automatic || b.Method > CG:
		return bad(ErrParameter, "Backward.Method = %d: unknown", int(b.Method))
	case math.IsNaN(b.Tol) || b.Tol < 0 || b.Tol >= 1:
		return bad(ErrParameter, "Backward.Tol = %g: must be in [0, 1)", b.Tol)
	case b.MaxIter < 0:
		return bad(ErrParameter, "Backward.MaxIter = %d: must be ≥ 0", b.MaxIter)
	}
	return nil
}

// rebaseRatio is the ratio of norms, of the field V to V less potentials, above which solveShifted
// subtracts potentials first.
const rebaseRatio = 100

// solveShifted is solve for a V that may contain potentials u ⊕ w much larger than the rest of it.
// It subtracts a base from V without loss and solves for the remainder, so that errors are relative
// to the remainder. (Adding u ⊕ w to V adds it to the solution and changes no derivative.)
func (b Backward) solveShifted(ctx context.Context, p *Plan, v field) (*adjoint, error) {
	out, err := b.solve(ctx, p, v, 0)
	// Twice: the first base is off by what is lost beside it.
	for range 2 {
		if err != nil {
			break
		}
		all, left := out.weightedNorms(v)
		if !(all > rebaseRatio*left) {
			break
		}
		base := out.v
		if out.base != nil {
			axpy(base, out.base, 1)
		}
		less := func(i int, dst, t, logT []float64) {
			v(i, dst, t, logT)
			subtractBase(dst, base, t, p.mass[i])
		}
		out, err = b.solve(ctx, p, less, left)
		if err == nil {
			out.base = base
		}
	}
	return out, err
}

// subtractBase subtracts base and then the mean under t from a row of V, which may both be large: the errors of both
// subtractions are kept (Knuth's two-sum) and added at the end.
func subtractBase(row, base, t []float64, mass float64) {
	if mass == 0 {
		clear(row)
		return
	}
	var mean float64
	for j, x := range row {
		mean += t[j] * (x - base[j])
	}
	mean /= mass
	for j, x := range row {
		d, e1 := rows.TwoDiff(x, base[j])
		d, e2 := rows.TwoDiff(d, mean)
		row[j] = d + (e1 + e2)
	}
}

// weightedNorms returns the norm √Σ T_ij x_ij² of the field less its base and row means, and the
// norm of that field less v.
func (a *adjoint) weightedNorms(v field) (all, left float64) {
	p := a.p
	_, m := p.Dims()
	sw := p.sweep()
	part := make([][2]float64, len(sw.Spans))
	sw.Each(func(w *worker, k int, s span) {
		logT, row, sq := make([]float64, m), make([]float64, m), make([]float64, m)
		for i := s.Lo; i < s.Hi; i++ {
			if p.mass[i] == 0 {
				continue
			}
			p.logRow(i, w.exp, logT, w.cost)
			a.centred(i, row, w.exp, logT, v)
			kern.Mul(sq, row, row)
			part[k][0] += dot(sq, w.exp)
			a.derivative(i, row, w.exp, logT, v)
			kern.Mul(sq, row, row)
			part[k][1] += dot(sq, w.exp)
		}
	})
	for _, x := range part {
		all, left = all+x[0], left+x[1]
	}
	return math.Sqrt(all), math.Sqrt(left)
}

// centred writes row i of the field less its base and its mean.
func (a *adjoint) centred(i int, dst, t, logT []float64, v field) {
	v(i, dst, t, logT)
	if a.base != nil {
		subtractBase(dst, a.base, t, a.p.mass[i])
	}
	centre(dst, t, a.p.mass[i])
}

const (
	maxEliminate = 128     // atoms on the smaller side up to which Automatic eliminates
	maxCholesky  = 2048    // and up to which it falls back on Cholesky
	maxDirect    = 1 << 24 // n·m up to which it does either: both hold T and the field in memory
)

// automatic tries conjugate gradients first, and Cholesky where they are slow.
func (b Backward) automatic(ctx context.Context, p *Plan, v field, scale float64) (*adjoint, error) {
	n, m := p.Dims()
	try := b
	try.Method = CG
	factors := min(n, m) <= maxCholesky && n <= maxDirect/m
	if try.MaxIter == 0 && factors {
		try.MaxIter = 1000
	}
	out, err := try.iterate(ctx, p, v, scale)
	if err != nil || out.status == Converged || !factors {
		return out, err
	}
	return direct(ctx, p, v, Cholesky)
}

// direct assembles the network on the side with fewer atoms and solves it.
func direct(ctx context.Context, p *Plan, v field, method Method) (*adjoint, error) {
	n, m := p.Dims()
	t, f := p.memory.floats(n*m), p.memory.floats(n*m)
	p.eachLog(func(i int, ti, logT []float64) {
		copy(t[i*m:], ti)
		v(i, f[i*m:(i+1)*m], ti, logT)
		centre(f[i*m:(i+1)*m], ti, p.mass[i])
	})
	if n < m {
		return directTransposed(ctx, p, t, f, method)
	}
	s, used, err := p.solveNetwork(ctx, t, f, p.mass, m, method)
	if err != nil {
		return nil, err
	}
	return &adjoint{p: p, v: s, method: used, status: Converged}, nil
}

// solveNetwork solves the system of the rows of t and of the field f on m nodes. It uses Cholesky if it
// was asked for and its pivots are large enough, else elimination.
func (p *Plan) solveNetwork(ctx context.Context, t, f, mass []float64, m int, method Method) ([]float64, Method, error) {
	net := laplacian.Network{M: m, W: p.memory.zeros(m * m), I: p.memory.zeros(m * m)}
	if err := net.Assemble(ctx, t, f, mass); err != nil {
		return nil, method, err
	}
	if method == Cholesky {
		if s, ok := net.Cholesky(); ok {
			return s, Cholesky, nil
		}
	}
	s, err := net.Eliminate(ctx)
	return s, Eliminate, err
}

// directTransposed solves for u on the network of the sources and computes v from the columns.
func directTransposed(ctx context.Context, p *Plan, t, f []float64, method Method) (*adjoint, error) {
	n, m := p.Dims()
	tt, ft := p.memory.floats(n*m), p.memory.floats(n*m)
	col, mean := p.memory.zeros(m), p.memory.floats(m) // Tᵀ1, and the mean of V by column
	for j := range m {
		for i := range n {
			tt[j*n+i], ft[j*n+i] = t[i*m+j], f[i*m+j]
			col[j] += t[i*m+j]
		}
		mean[j] = centre(ft[j*n:(j+1)*n], tt[j*n:(j+1)*n], col[j])
	}
	plain := p.memory.clone(tt)
	u, used, err := p.solveNetwork(ctx, tt, ft, col, n, method)
	if err != nil {
		return nil, err
	}
	v := p.memory.zeros(m)
	for j, c := range col {
		if c > 0 {
			v[j] = mean[j] - dot(plain[j*n:(j+1)*n], u)/c
		}
	}
	return &adjoint{p: p, v: v, method: used, status: Converged}, nil
}

// centre subtracts the mean of v under t from v and returns it; mass is the sum of t.
func centre(v, t []float64, mass float64) float64 {
	if mass == 0 {
		clear(v)
		return 0
	}
	// Twice: the second mean removes the rounding of the first.
	var total float64
	for range 2 {
		mean := dot(v, t) / mass
		subtract(v, mean)
		total += mean
	}
	return total
}

// entriesToHold is the largest number of entries of T that conjugate gradients hold, the same as
// for lists in a solve.
func (p *Plan) entriesToHold() int {
	if isFrugal(p.Geometry) {
		return maxSparseFrugal
	}
	return maxSparse
}

// iterate solves by conjugate gradients over the entries of T that are not negligible,
// preconditioned by the column sums.
func (b Backward) iterate(ctx context.Context, p *Plan, v field, scale float64) (*adjoint, error) {
	h, rhs := p.system(v, p.entriesToHold())
	return b.iterateOn(ctx, p, h, rhs, scale)
}

// iterateOn is iterate for a given D and right-hand side.
func (b Backward) iterateOn(ctx context.Context, p *Plan, h *hessian, rhs []float64, scale float64) (*adjoint, error) {
	_, m := p.Dims()
	tol, most := cmp.Or(b.Tol, max(1e-13, min(1e-6, p.MarginalL1/100))), cmp.Or(b.MaxIter, 10*m+1000)
	s := p.memory.floats(m)
	h.cg.Mul, h.cg.Diag, h.cg.Stop = h.mul, h.col, nil
	_, resid, err := h.cg.Solve(ctx, s, rhs, tol, scale, most)
	if err != nil {
		return nil, err
	}
	out := &adjoint{p: p, v: s, method: CG, status: Converged, resid: resid}
	if resid > tol {
		out.status = IterationLimit
	}
	return out, nil
}

// derivative writes row i of u ⊕ v − V for the field V: the factor of T/ε in a derivative with
// respect to the cost.
func (a *adjoint) derivative(i int, dst, t, logT []float64, v field) {
	mass := a.p.mass[i]
	if mass == 0 {
		clear(dst)
		return
	}
	a.centred(i, dst, t, logT, v)
	kern.RowLogits(dst, a.v, dst, 1)
	centre(dst, t, mass)
}
