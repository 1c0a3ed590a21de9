package ot

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Unrolled differentiates the sharp loss through the iterations of log-domain Sinkhorn, as automatic differentiation
// does (Genevay et al. 2018). It is a reference to test and to measure against, not a way to work: it keeps the
// potentials of every iteration, goes over all of them twice, and its gradient is that of what the iterations reached.
type Unrolled struct {
	// Eps is the ε > 0 of the problem, in units of cost.
	Eps float64
	// Iterations is the number of iterations, of two half-steps each; 0 is 100.
	Iterations int
}

// Unrolling is what Unrolled found.
type Unrolling struct {
	// Value is <T,c> and Cost its gradient with respect to the costs, n×m.
	Value float64
	Cost  *mat.Dense
	// MarginalL1 is Σ|T1−a| + Σ|Tᵀ1−b| after the last iteration.
	MarginalL1 float64
	// Taped is the number of float64 that automatic differentiation would hold: the n×m matrix of every half-step.
	Taped int
}

// Eval runs the iterations forward and back. Cost: four exponentials an entry an iteration.
func (o Unrolled) Eval(ctx context.Context, p Problem) (*Unrolling, error) {
	if err := checkEps(o.Eps); err != nil {
		return nil, err
	}
	if o.Iterations < 0 {
		return nil, bad(ErrParameter, "Iterations = %d: must be ≥ 0 (0 is 100)", o.Iterations)
	}
	steps := o.Iterations
	if steps == 0 {
		steps = 100
	}
	in, err := p.check(0)
	if err != nil {
		return nil, err
	}
	t := &tape{in: in, eps: o.Eps, c: Cost(in.g), f: make([][]float64, steps+1), g: make([][]float64, steps+1)}
	t.f[0], t.g[0] = make([]float64, in.n), make([]float64, in.m)
	for k := 1; k <= steps; k++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t.f[k] = t.softminRows(t.g[k-1])
		t.g[k] = t.softminCols(t.f[k])
	}
	return t.backward(ctx)
}

// tape holds the KL potentials after every iteration.
type tape struct {
	in   *instance
	eps  float64
	c    *mat.Dense
	f, g [][]float64
}

// softminRows returns −ε log Σⱼ bⱼ exp((gⱼ−c_ij)/ε).
func (t *tape) softminRows(g []float64) []float64 {
	out, x := make([]float64, t.in.n), make([]float64, t.in.m)
	for i := range out {
		for j, b := range t.in.b {
			x[j] = math.Log(b) + (g[j]-t.c.At(i, j))/t.eps
		}
		out[i] = -t.eps * kern.LogSumExp(x)
	}
	return out
}

// softminCols returns −ε log Σᵢ aᵢ exp((fᵢ−c_ij)/ε).
func (t *tape) softminCols(f []float64) []float64 {
	out, x := make([]float64, t.in.m), make([]float64, t.in.n)
	for j := range out {
		for i, a := range t.in.a {
			x[i] = math.Log(a) + (f[i]-t.c.At(i, j))/t.eps
		}
		out[j] = -t.eps * kern.LogSumExp(x)
	}
	return out
}

// backward goes back over the tape from <T,c>, T = ab exp((f+g−c)/ε).
func (t *tape) backward(ctx context.Context) (*Unrolling, error) {
	n, m, last := t.in.n, t.in.m, len(t.f)-1
	out := &Unrolling{Cost: mat.NewDense(n, m, nil), Taped: 2 * last * n * m}
	df, dg := make([]float64, n), make([]float64, m)
	row, col := make([]float64, n), make([]float64, m)
	for i, a := range t.in.a {
		for j, b := range t.in.b {
			c := t.c.At(i, j)
			x := a * b * math.Exp((t.f[last][i]+t.g[last][j]-c)/t.eps)
			out.Value += x * c
			row[i] += x
			col[j] += x
			d := x * c / t.eps
			df[i] += d
			dg[j] += d
			out.Cost.Set(i, j, x-d)
		}
	}
	out.MarginalL1 = kern.L1Diff(row, t.in.a) + kern.L1Diff(col, t.in.b)
	for k := last; k > 0; k-- {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// g[k] = softmin over i of c − f[k], with weights q of each column: ∂g/∂f = −q, ∂g/∂c = q.
		for i, a := range t.in.a {
			for j := range m {
				q := a * math.Exp((t.f[k][i]+t.g[k][j]-t.c.At(i, j))/t.eps) * dg[j]
				df[i] -= q
				out.Cost.Set(i, j, out.Cost.At(i, j)+q)
			}
		}
		clear(dg)
		for i := range n {
			for j, b := range t.in.b {
				q := b * math.Exp((t.f[k][i]+t.g[k-1][j]-t.c.At(i, j))/t.eps) * df[i]
				dg[j] -= q
				out.Cost.Set(i, j, out.Cost.At(i, j)+q)
			}
		}
		clear(df)
	}
	return out, nil
}
