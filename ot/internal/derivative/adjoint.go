// Package derivative solves the linear systems of a plan: those of its derivatives, for gradients
// and vector–Jacobian products, and those of Newton steps towards it.
package derivative

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device/cpu"
	"coupling/ot/internal/laplacian"
	"coupling/ot/internal/rows"
	"coupling/ot/internal/semidual"
	"coupling/ot/internal/transport"
)

// kern is the set of vector kernels in use.
var kern cpu.Kernels[float64]

// Method is a way of solving the linear system of a derivative.
type Method int

const (
	// Automatic is eliminate for up to maxEliminate atoms on the smaller side, else cg, then cholesky.
	Automatic Method = iota
	// Eliminate is the elimination without subtractions.
	Eliminate
	// Cholesky factors D, and falls back on eliminate.
	Cholesky
	// CG is conjugate gradients.
	CG
)

// Settings say how the linear system is solved; 0 chooses.
type Settings struct {
	Method  Method
	Tol     float64 // relative residual of cg
	MaxIter int     // of cg
}

// Adjoint solves Diag(T1) u + T v = (T∘V)1, Tᵀu + Diag(Tᵀ1) v = (T∘V)ᵀ1 for the
// field V, which is made row by row. It returns u relative to the row means of V, as centred:
//
//	uᵢ + vⱼ − V_ij = centredᵢ + vⱼ − (V_ij − V̄ᵢ),   V̄ᵢ = Σⱼ T_ij V_ij / (T1)ᵢ,   centredᵢ = −Σⱼ T_ij vⱼ / (T1)ᵢ,
//
// so that a large V costs no precision.
type Adjoint struct {
	p         *transport.Plan
	v         []float64
	base      []float64 // where not nil, v solves for the field V less base in every row
	Method    Method
	Converged bool
	Residual  float64
}

// Field writes row i of V, given row i of T and of log T (relative to the row's largest entry; 0
// where T is 0 because a weight is 0).
type Field func(i int, dst, t, logT []float64)

// solve solves for the field V. The residual of cg is
// relative to the larger of the right-hand side and scale.
func (b Settings) solve(ctx context.Context, p *transport.Plan, v Field, scale float64) (*Adjoint, error) {
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

// rebaseRatio is the ratio of norms, of the field V to V less potentials, above which solveShifted
// subtracts potentials first.
const rebaseRatio = 100

// solveShifted is solve for a V that may contain potentials u ⊕ w much larger than the rest of it.
// It subtracts a base from V without loss and solves for the remainder, so that errors are relative
// to the remainder. (Adding u ⊕ w to V adds it to the solution and changes no derivative.)
func (b Settings) solveShifted(ctx context.Context, p *transport.Plan, v Field) (*Adjoint, error) {
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
		base := out.potentials()
		if left <= 0x1p-50*all { // V is base but for rounding, which needs no solution
			clear(out.v)
			out.base, out.Converged = base, true
			break
		}
		less := func(i int, dst, t, logT []float64) {
			v(i, dst, t, logT)
			subtractBase(dst, base, t, p.Mass[i])
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
func (a *Adjoint) weightedNorms(v Field) (all, left float64) {
	p := a.p
	_, m := p.Dims()
	sw := p.Sweep()
	part := make([][2]float64, len(sw.Spans))
	sw.EachRow(func(w *semidual.Worker, k, i int) {
		if p.Mass[i] == 0 {
			return
		}
		scratch := w.Room(2 * m)
		logT, row := scratch[:m], scratch[m:]
		p.LogRow(i, w.Exp, logT, w.Cost)
		for l, of := range []func(int, []float64, []float64, []float64, Field){a.centred, a.derivative} {
			of(i, row, w.Exp, logT, v)
			kern.Mul(row, row, row)
			part[k][l] += kern.Dot(row, w.Exp)
		}
	})
	for _, x := range part {
		all, left = all+x[0], left+x[1]
	}
	return math.Sqrt(all), math.Sqrt(left)
}

// centred writes row i of the field less its base and its mean.
func (a *Adjoint) centred(i int, dst, t, logT []float64, v Field) {
	v(i, dst, t, logT)
	if a.base != nil {
		subtractBase(dst, a.base, t, a.p.Mass[i])
	}
	centre(dst, t, a.p.Mass[i])
}

const (
	maxEliminate = 128     // atoms on the smaller side up to which automatic eliminates
	maxCholesky  = 2048    // and up to which it falls back on cholesky
	maxDirect    = 1 << 24 // n·m up to which it does either: both hold T and the field in memory
)

// automatic tries conjugate gradients first, and cholesky where they are slow.
func (b Settings) automatic(ctx context.Context, p *transport.Plan, v Field, scale float64) (*Adjoint, error) {
	n, m := p.Dims()
	try := b
	try.Method = CG
	factors := min(n, m) <= maxCholesky && n <= maxDirect/m
	if try.MaxIter == 0 && factors {
		try.MaxIter = 1000
	}
	out, err := try.iterate(ctx, p, v, scale)
	if err != nil || out.Converged || !factors {
		return out, err
	}
	return direct(ctx, p, v, Cholesky)
}

// direct assembles the network on the side with fewer atoms and solves it.
func direct(ctx context.Context, p *transport.Plan, v Field, method Method) (*Adjoint, error) {
	n, m := p.Dims()
	t, f := p.Memory.Floats(n*m), p.Memory.Floats(n*m)
	p.EachLog(func(i int, ti, logT []float64) {
		copy(t[i*m:], ti)
		v(i, f[i*m:(i+1)*m], ti, logT)
		centre(f[i*m:(i+1)*m], ti, p.Mass[i])
	})
	if n < m {
		return directTransposed(ctx, p, t, f, method)
	}
	s, used, err := solveNetwork(ctx, p, t, f, p.Mass, m, method)
	if err != nil {
		return nil, err
	}
	return &Adjoint{p: p, v: s, Method: used, Converged: true}, nil
}

// solveNetwork solves the system of the rows of t and of the field f on m nodes. It uses cholesky if it
// was asked for and its pivots are large enough, else elimination.
func solveNetwork(ctx context.Context, p *transport.Plan, t, f, mass []float64, m int,
	method Method) ([]float64, Method, error) {
	net := laplacian.Network{M: m, W: p.Memory.Zeros(m * m), I: p.Memory.Zeros(m * m)}
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
func directTransposed(ctx context.Context, p *transport.Plan, t, f []float64, method Method) (*Adjoint, error) {
	n, m := p.Dims()
	tt, ft := p.Memory.Floats(n*m), p.Memory.Floats(n*m)
	col, mean := p.Memory.Zeros(m), p.Memory.Floats(m) // Tᵀ1, and the mean of V by column
	for j := range m {
		for i := range n {
			tt[j*n+i], ft[j*n+i] = t[i*m+j], f[i*m+j]
			col[j] += t[i*m+j]
		}
		mean[j] = centre(ft[j*n:(j+1)*n], tt[j*n:(j+1)*n], col[j])
	}
	plain := p.Memory.Clone(tt)
	u, used, err := solveNetwork(ctx, p, tt, ft, col, n, method)
	if err != nil {
		return nil, err
	}
	v := p.Memory.Zeros(m)
	for j, c := range col {
		if c > 0 {
			v[j] = mean[j] - kern.Dot(plain[j*n:(j+1)*n], u)/c
		}
	}
	return &Adjoint{p: p, v: v, Method: used, Converged: true}, nil
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
		mean := kern.Dot(v, t) / mass
		rows.Subtract(v, mean)
		total += mean
	}
	return total
}

// iterate solves by conjugate gradients over the entries of T that are not negligible,
// preconditioned by the column sums.
func (b Settings) iterate(ctx context.Context, p *transport.Plan, v Field, scale float64) (*Adjoint, error) {
	h, rhs := System(p, v, semidual.MaxList(p.Geometry))
	return b.iterateOn(ctx, p, h, rhs, scale)
}

// iterateOn is iterate for a given D and right-hand side.
func (b Settings) iterateOn(ctx context.Context, p *transport.Plan, h *Hessian, rhs []float64,
	scale float64) (*Adjoint, error) {
	_, m := p.Dims()
	tol, most := cmp.Or(b.Tol, max(1e-13, min(1e-6, p.MarginalL1/100))), cmp.Or(b.MaxIter, 10*m+1000)
	s := p.Memory.Floats(m)
	h.cg.Mul, h.cg.Diag, h.cg.Stop = h.Mul, h.Col, nil
	_, resid, err := h.cg.Solve(ctx, s, rhs, tol, scale, most)
	if err != nil {
		return nil, err
	}
	out := &Adjoint{p: p, v: s, Method: CG, Converged: !(resid > tol), Residual: resid}
	return out, nil
}

// derivative writes row i of u ⊕ v − V for the field V: the factor of T/ε in a derivative with
// respect to the cost.
func (a *Adjoint) derivative(i int, dst, t, logT []float64, v Field) {
	mass := a.p.Mass[i]
	if mass == 0 {
		clear(dst)
		return
	}
	a.centred(i, dst, t, logT, v)
	kern.RowLogits(dst, a.v, dst, 1)
	centre(dst, t, mass)
}

// potentials returns s of VJP, with the base added back.
func (a *Adjoint) potentials() []float64 {
	out := slices.Clone(a.v)
	if a.base != nil {
		kern.Axpy(out, 1, a.base)
	}
	return out
}

// VJP returns the derivatives of ℓ with respect to the costs and the weights, for the rows v of ∂ℓ/∂T.
func (b Settings) VJP(ctx context.Context, p *transport.Plan,
	v Field) (dc *mat.Dense, da, db []float64, ad *Adjoint, err error) {
	if ad, err = b.solveShifted(ctx, p, v); err != nil {
		return nil, nil, nil, nil, err
	}
	n, m := p.Dims()
	dc, da, db = mat.NewDense(n, m, nil), make([]float64, n), ad.potentials()
	p.EachLog(func(i int, t, logT []float64) {
		dst := dc.RawRowView(i)
		if p.Mass[i] > 0 {
			v(i, dst, t, logT)
			if ad.base != nil {
				kern.Axpy(dst, -1, ad.base)
			}
			da[i] = (kern.Dot(t, dst) - kern.Dot(t, ad.v)) / p.Mass[i]
		}
		ad.derivative(i, dst, t, logT, v)
		for j := range dst {
			dst[j] *= t[j] / p.Eps
		}
	})
	for j, w := range p.B {
		if w == 0 {
			db[j] = 0
		}
	}
	transport.Balance(p.A, da, p.B, db)
	return dc, da, db, ad, nil
}
