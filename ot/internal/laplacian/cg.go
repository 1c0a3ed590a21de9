package laplacian

import (
	"context"
	"math"

	"coupling/lab/device/cpu"
)

// CG solves D x = r by conjugate gradients preconditioned by a diagonal. It starts from 0 and so
// never enters the constants, along which a Laplacian is singular. The zero value with Mul and Diag
// set works; its vectors are kept for the next Solve.
type CG struct {
	// Mul writes D v to dst.
	Mul func(dst, v []float64)
	// Diag is the preconditioner: unknowns where it is 0 stay 0.
	Diag []float64
	// Stop, where not nil, is called after every step with its number from 0, its length and x; true ends the solve.
	Stop func(it int, step float64, x []float64) bool

	r, z, p, w []float64
}

// precondition writes z = r/Diag and returns <r,z>.
func (c *CG) precondition() float64 {
	var rz float64
	for j, d := range c.Diag {
		if d > 0 {
			c.z[j] = c.r[j] / d
			rz += c.r[j] * c.z[j]
		}
	}
	return rz
}

// Solve writes x and returns how many of at most most steps it took and the residual, in the norm
// of the preconditioner and relative to the larger of rhs and scale. It ends when the residual is
// at most tol, at a direction without curvature, or with the context's error.
func (c *CG) Solve(ctx context.Context, x, rhs []float64, tol, scale float64,
	most int) (steps int, residual float64, err error) {
	if len(c.r) != len(rhs) {
		v := make([]float64, 4*len(rhs))
		c.r, c.z, c.p, c.w = v[:len(rhs)], v[len(rhs):2*len(rhs)], v[2*len(rhs):3*len(rhs)], v[3*len(rhs):]
	}
	clear(x)
	clear(c.z)
	for j, d := range c.Diag {
		if c.r[j] = 0; d > 0 {
			c.r[j] = rhs[j]
		}
	}
	rz := c.precondition()
	if rz == 0 {
		return 0, 0, nil
	}
	first := max(rz, scale*scale)
	copy(c.p, c.z)
	for steps < most && rz > first*tol*tol {
		if steps%64 == 0 && ctx.Err() != nil {
			return steps, 0, ctx.Err()
		}
		c.Mul(c.w, c.p)
		curvature := kern.Dot(c.p, c.w)
		if !(curvature > 1e-14*rz) {
			break
		}
		step := rz / curvature
		kern.Axpy(x, step, c.p)
		kern.Axpy(c.r, -step, c.w)
		if c.Stop != nil && c.Stop(steps, step, x) {
			return steps + 1, math.Sqrt(rz / first), nil
		}
		steps++
		next := c.precondition()
		ratio := next / rz
		for j, z := range c.z {
			c.p[j] = z + ratio*c.p[j]
		}
		rz = next
	}
	return steps, math.Sqrt(rz / first), nil
}

// Row is a row of a plan, or of another matrix whose Laplacian it is: all its entries, or those of
// the columns Idx, and their sum.
type Row struct {
	Idx []int32 // empty for all
	Val []float64
	Sum float64
}

// Column returns the column of Val[k].
func (r *Row) Column(k int) int {
	if r.Idx == nil {
		return k
	}
	return int(r.Idx[k])
}

// Dot returns the product with x.
func (r *Row) Dot(x []float64) float64 {
	if len(r.Idx) == 0 {
		return kern.Dot(r.Val, x)
	}
	return Gather(r.Val, x, r.Idx)
}

// Gather returns Σ val·x[idx].
func Gather(val, x []float64, idx []int32) float64 {
	val = val[:len(idx)]
	var s0, s1 float64
	l := 0
	for ; l+2 <= len(idx); l += 2 {
		s0 += val[l] * x[idx[l]]
		s1 += val[l+1] * x[idx[l+1]]
	}
	if l < len(idx) {
		s0 += val[l] * x[idx[l]]
	}
	return s0 + s1
}

// Scatter adds w·val to y[idx].
func Scatter(y, val []float64, w float64, idx []int32) {
	val = val[:len(idx)]
	for l, j := range idx {
		y[j] += w * val[l]
	}
}

// Axpy adds w times the row to y.
func (r *Row) Axpy(y []float64, w float64) {
	if len(r.Idx) == 0 {
		kern.Axpy(y, w, r.Val)
		return
	}
	Scatter(y, r.Val, w, r.Idx)
}

// gramRows is the number of whole rows that are multiplied at a time.
const gramRows = 128

// Conductances adds the conductances Σᵢ T_ij T_il / (T1)ᵢ of n rows to the upper triangle of w,
// m×m: whole rows by a matrix product, lists one by one.
func Conductances(w []float64, m, n int, row func(i int) Row) {
	var gemm cpu.Gemm[float64]
	var buf, inv []float64
	flush := func() {
		if len(inv) > 0 {
			gemm.AddGram(cpu.Dense(w, m, m), inv, cpu.Dense(buf, len(inv), m))
			buf, inv = buf[:0], inv[:0]
		}
	}
	for i := range n {
		if r := row(i); len(r.Idx) == 0 && len(r.Val) == m && r.Sum > 0 {
			if buf, inv = append(buf, r.Val...), append(inv, 1/r.Sum); len(inv) == gramRows {
				flush()
			}
		}
	}
	flush()
	for i := range n {
		r := row(i)
		for p, j := range r.Idx {
			to, f := w[int(j)*m:(int(j)+1)*m], r.Val[p]/r.Sum
			for q := p + 1; q < len(r.Idx); q++ {
				to[r.Idx[q]] += f * r.Val[q]
			}
		}
	}
}
