package analytic

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
)

// paperFormula is the gradient of the sharp loss as the paper states it, in float64,
//
//	μ_r = (c∘T)1, μ_c = (c∘T)ᵀ1,  D s_v = μ_c − Tᵀ(μ_r/a),  s_u = (μ_r − T s_v)/a,  ∂S/∂c = T + (s_u ⊕ s_v − c)∘T/ε,
//
// D = Diag(b) − TᵀDiag(1/a)T, the last target dropped. The system is solved by Cholesky's method, and by elimination
// with pivots where D is not positive definite in float64.
func paperFormula(t, c *mat.Dense, a, b []float64, eps float64) (*mat.Dense, error) {
	n, m := t.Dims()
	var work, scaled mat.Dense
	work.MulElem(c, t)
	scaled.CloneFrom(t) // T̃/a
	mu := make([]float64, n)
	for i, w := range a {
		if w > 0 {
			mu[i] = mat.Sum(work.RowView(i)) / w
			scaled.RowView(i).(*mat.VecDense).ScaleVec(1/w, t.RowView(i))
		}
	}
	rhs := mat.NewVecDense(m, nil)
	rhs.MulVec(t.T(), mat.NewVecDense(n, mu))
	for j := range m {
		rhs.SetVec(j, mat.Sum(work.ColView(j))-rhs.AtVec(j))
	}
	sv := mat.NewVecDense(m, nil)
	if m > 1 {
		if err := solveD(sv.SliceVec(0, m-1).(*mat.VecDense), t, &scaled, b, rhs.SliceVec(0, m-1)); err != nil {
			return nil, err
		}
	}
	var su mat.VecDense
	su.MulVec(&scaled, sv)
	out := mat.NewDense(n, m, nil)
	for i := range n {
		for j := range m {
			out.Set(i, j, t.At(i, j)*(1+(mu[i]-su.AtVec(i)+sv.AtVec(j)-c.At(i, j))/eps))
		}
	}
	return out, nil
}

// solveD solves D x = rhs, scaled = Diag(1/a)T.
func solveD(x *mat.VecDense, t, scaled *mat.Dense, b []float64, rhs mat.Vector) error {
	n, m := t.Dims()
	var d mat.Dense
	d.Mul(t.Slice(0, n, 0, m-1).T(), scaled.Slice(0, n, 0, m-1))
	sym := mat.NewSymDense(m-1, nil)
	for j := range m - 1 {
		for l := j; l < m-1; l++ {
			sym.SetSym(j, l, -d.At(j, l))
		}
		sym.SetSym(j, j, b[j]-d.At(j, j))
	}
	var chol mat.Cholesky
	var err error
	if chol.Factorize(sym) {
		err = chol.SolveVecTo(x, rhs)
	} else {
		err = x.SolveVec(sym, rhs)
	}
	var condition mat.Condition // an ill-conditioned system is solved all the same, as elsewhere
	if errors.As(err, &condition) && !math.IsInf(float64(condition), 1) {
		return nil
	}
	return err
}
