package analytic

import (
	"context"
	"math"

	"coupling/ot"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// unrolledScaling differentiates the sharp loss through the iterations of kernel scaling, u = a/(Kv), v = b/(Kᵀu), as
// automatic differentiation would, but as fast as this can be done: products with K forward and back, and the rank-one
// updates of ∂/∂K gathered in one matrix product at the end. It is the best that unrolling can do, where K does not
// underflow.
func unrolledScaling(c *mat.Dense, a, b []float64, eps float64, iterations int) *mat.Dense {
	n, m := c.Dims()
	k := kernelOf(c, eps, false)
	us, vs := make([][]float64, iterations+1), make([][]float64, iterations+1)
	vs[0] = b
	for t := 1; t <= iterations; t++ {
		us[t], vs[t] = make([]float64, n), make([]float64, m)
		k.mul(us[t], vs[t-1])
		floats.DivTo(us[t], a, us[t])
		k.mulT(vs[t], us[t])
		floats.DivTo(vs[t], b, vs[t])
	}
	u, v := us[iterations], vs[iterations]
	out := mat.NewDense(n, m, nil) // first ∂<T,c>/∂K at fixed u and v, then ∂/∂c
	du, dv := make([]float64, n), make([]float64, m)
	for i := range n {
		row := out.RawRowView(i)
		for j, cost := range c.RawRowView(i) {
			kc := k.at(i, j) * cost
			du[i] += kc * v[j]
			dv[j] += kc * u[i]
			row[j] = u[i] * v[j] * cost
		}
	}
	left, right := mat.NewDense(2*iterations, n, nil), mat.NewDense(2*iterations, m, nil)
	back := make([]float64, n)
	for t := iterations; t > 0; t-- {
		ds, dr := right.RawRowView(2*t-1), left.RawRowView(2*t-2)
		for j, x := range vs[t] {
			ds[j] = -dv[j] * x * x / b[j]
		}
		copy(left.RawRowView(2*t-1), us[t])
		k.mul(back, ds)
		for i, x := range us[t] {
			dr[i] = -(du[i] + back[i]) * x * x / a[i]
		}
		copy(right.RawRowView(2*t-2), vs[t-1])
		k.mulT(dv, dr)
		clear(du)
	}
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, left.RawMatrix(), right.RawMatrix(), 1, out.RawMatrix())
	for i := range n {
		row := out.RawRowView(i)
		for j := range row {
			row[j] = k.at(i, j) * (u[i]*v[j] - row[j]/eps)
		}
	}
	return out
}

// kernelUnderflows reports whether exp(−c/ε) loses entries, and unrolledScaling is of no use.
func kernelUnderflows(p ot.Problem, eps float64) bool {
	return mat.Max(ot.Cost(p.Geometry)) > -eps*math.Log(math.SmallestNonzeroFloat64)
}

// logUnrolled differentiates the sharp loss through the iterations of log-domain Sinkhorn, as automatic differentiation
// does (Genevay et al. 2018). It is a reference to test and to measure against, not a way to work: it keeps the
// potentials of every iteration, goes over all of them twice, and its gradient is that of what the iterations reached.
type logUnrolled struct {
	// Eps is the ε > 0 of the problem, in units of cost.
	Eps float64
	// Iterations is the number of iterations, of two half-steps each.
	Iterations int
}

// unrolling is what logUnrolled found.
type unrolling struct {
	// Cost is the gradient of <T,c> with respect to the costs, n×m.
	Cost *mat.Dense
}

// Eval runs the iterations of p, whose weights sum to 1, forward and back. Cost: four exponentials
// an entry an iteration.
func (o logUnrolled) Eval(ctx context.Context, p ot.Problem) (*unrolling, error) {
	steps, c := o.Iterations, ot.Cost(p.Geometry)
	n, m := c.Dims()
	t := &tape{a: p.A, b: p.B, eps: o.Eps, c: c, f: make([][]float64, steps+1), g: make([][]float64, steps+1)}
	t.f[0], t.g[0] = make([]float64, n), make([]float64, m)
	for k := 1; k <= steps; k++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t.f[k] = t.softmin(t.b, t.g[k-1], c)
		t.g[k] = t.softmin(t.a, t.f[k], c.T())
	}
	return t.backward(ctx)
}

// tape holds the KL potentials after every iteration.
type tape struct {
	a, b []float64
	eps  float64
	c    *mat.Dense
	f, g [][]float64
}

// softmin returns −ε log Σⱼ wⱼ exp((gⱼ−c_ij)/ε) for each row i of c.
func (t *tape) softmin(w, g []float64, c mat.Matrix) []float64 {
	n, _ := c.Dims()
	out, x := make([]float64, n), make([]float64, len(w))
	for i := range out {
		for j, v := range w {
			x[j] = math.Log(v) + (g[j]-c.At(i, j))/t.eps
		}
		out[i] = -t.eps * floats.LogSumExp(x)
	}
	return out
}

// backward goes back over the tape from <T,c>, T = ab exp((f+g−c)/ε).
func (t *tape) backward(ctx context.Context) (*unrolling, error) {
	n, m, last := len(t.a), len(t.b), len(t.f)-1
	out := &unrolling{Cost: mat.NewDense(n, m, nil)}
	df, dg := make([]float64, n), make([]float64, m)
	for i, a := range t.a {
		for j, b := range t.b {
			c := t.c.At(i, j)
			x := a * b * math.Exp((t.f[last][i]+t.g[last][j]-c)/t.eps)
			d := x * c / t.eps
			df[i] += d
			dg[j] += d
			out.Cost.Set(i, j, x-d)
		}
	}
	for k := last; k > 0; k-- {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// g[k] = softmin over i of c − f[k], with weights q of each column: ∂g/∂f = −q, ∂g/∂c = q.
		for i, a := range t.a {
			for j := range m {
				q := a * math.Exp((t.f[k][i]+t.g[k][j]-t.c.At(i, j))/t.eps) * dg[j]
				df[i] -= q
				out.Cost.Set(i, j, out.Cost.At(i, j)+q)
			}
		}
		clear(dg)
		for i := range n {
			for j, b := range t.b {
				q := b * math.Exp((t.f[k][i]+t.g[k-1][j]-t.c.At(i, j))/t.eps) * df[i]
				dg[j] -= q
				out.Cost.Set(i, j, out.Cost.At(i, j)+q)
			}
		}
		clear(df)
	}
	return out, nil
}
