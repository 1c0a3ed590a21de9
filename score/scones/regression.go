package scones

import (
	"fmt"

	"coupling/ot/gaussian"
	"coupling/score/internal/rows"

	"gonum.org/v1/gonum/mat"
)

// Regression is the law of y given x where target and potential are Gaussian and quadratic: y = Shift + Slope·x + N(0, Cov).
type Regression struct {
	Shift []float64
	Slope *mat.Dense
	Cov   *mat.SymDense
}

// Regression returns the law of y given x for a quadratic ψ and a normal target, under KL at λ and
// the cost |x−y|². It is the law that Langevin dynamics samples, in closed form,
//
//	Cov⁻¹ = B⁻¹ + (2/λ)(I − S),     E[y|x] = Cov·(B⁻¹m + (2/λ) x + ∇ψ's constant part/λ).
//
// The error wraps ErrParameter if ψ is so convex that this is not a density.
func (q *Quadratic) Regression(target gaussian.Normal, lambda float64) (*Regression, error) {
	d := q.Dim()
	if target.Dim() != d {
		return nil, fmt.Errorf("scones: psi has dimension %d, the target %d: %w", d, target.Dim(), ErrShape)
	}
	var b mat.Cholesky
	if !b.Factorize(target.Cov) {
		return nil, fmt.Errorf("scones: the covariance of the target is singular: %w", ErrParameter)
	}
	var precision mat.SymDense
	if err := b.InverseTo(&precision); err != nil {
		return nil, err
	}
	at := mat.NewVecDense(d, nil) // B⁻¹m + (b − 2Sm_q)/λ
	if target.Mean != nil {
		at.MulVec(&precision, mat.NewVecDense(d, target.Mean))
	}
	sm := mat.NewVecDense(d, nil)
	sm.MulVec(q.S, mat.NewVecDense(d, q.M))
	for i := range d {
		at.SetVec(i, at.AtVec(i)+(q.B[i]-2*sm.AtVec(i))/lambda)
		for j := range i + 1 {
			v := precision.At(i, j) - 2/lambda*q.S.At(i, j)
			if i == j {
				v += 2 / lambda
			}
			precision.SetSym(i, j, v)
		}
	}
	var c mat.Cholesky
	if !c.Factorize(&precision) {
		return nil, fmt.Errorf("scones: psi outgrows the target and the cost: no density: %w", ErrParameter)
	}
	r := &Regression{Cov: new(mat.SymDense), Slope: new(mat.Dense), Shift: make([]float64, d)}
	if err := c.InverseTo(r.Cov); err != nil {
		return nil, err
	}
	r.Slope.Scale(2/lambda, r.Cov)
	mat.NewVecDense(d, r.Shift).MulVec(r.Cov, at)
	return r, nil
}

// Joint returns the covariance of (x, y), 2d×2d, for x of the given covariance.
func (r *Regression) Joint(x *mat.SymDense) *mat.SymDense {
	d := x.SymmetricDim()
	var cross, own mat.Dense
	cross.Mul(x, r.Slope.T())
	own.Mul(r.Slope, &cross)
	out := mat.NewSymDense(2*d, nil)
	for i := range d {
		for j := range d {
			out.SetSym(i, d+j, cross.At(i, j))
			if j <= i {
				out.SetSym(i, j, x.At(i, j))
				out.SetSym(d+i, d+j, (own.At(i, j)+own.At(j, i))/2+r.Cov.At(i, j))
			}
		}
	}
	return out
}

// Mean returns E[y|x] at each row of x.
func (r *Regression) Mean(x *mat.Dense) *mat.Dense {
	n, d := x.Dims()
	out := mat.NewDense(n, d, nil)
	rows.Multiply(out, x, mat.DenseCopyOf(r.Slope.T()))
	for i := range n {
		row := out.RawRowView(i)
		for k := range row {
			row[k] += r.Shift[k]
		}
	}
	return out
}
