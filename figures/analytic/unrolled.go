package analytic

import (
	"math"

	"coupling/ot"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
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
		for i, r := range us[t] {
			us[t][i] = a[i] / r
		}
		k.mulT(vs[t], us[t])
		for j, s := range vs[t] {
			vs[t][j] = b[j] / s
		}
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
