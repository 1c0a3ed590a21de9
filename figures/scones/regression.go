package scones

import (
	"fmt"

	"coupling/ot/gaussian"
	"coupling/score/scones"

	"gonum.org/v1/gonum/mat"
)

// regression is the law of y given x where target and potential are Gaussian and quadratic: y =
// shift + slope·x + N(0, cov).
type regression struct {
	shift []float64
	slope *mat.Dense
	cov   *mat.SymDense
}

// regress returns the law of y given x for a quadratic ψ and a normal target, under KL at λ and
// the cost |x−y|². It is the law that Langevin dynamics samples, in closed form,
//
//	Cov⁻¹ = B⁻¹ + (2/λ)(I − S),     E[y|x] = Cov·(B⁻¹m + (2/λ) x + ∇ψ's constant part/λ).
//
// It is an error if ψ is so convex that this is not a density.
func regress(q *scones.Quadratic, target gaussian.Normal, lambda float64) (*regression, error) {
	d := q.Dim()
	var b mat.Cholesky
	if !b.Factorize(target.Cov) {
		return nil, fmt.Errorf("scones: the covariance of the target is singular: %w", scones.ErrParameter)
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
		return nil, fmt.Errorf("scones: psi outgrows the target and the cost: no density: %w", scones.ErrParameter)
	}
	r := &regression{cov: new(mat.SymDense), slope: new(mat.Dense), shift: make([]float64, d)}
	if err := c.InverseTo(r.cov); err != nil {
		return nil, err
	}
	r.slope.Scale(2/lambda, r.cov)
	mat.NewVecDense(d, r.shift).MulVec(r.cov, at)
	return r, nil
}

// joint returns the covariance of (x, y), 2d×2d, for x of the given covariance.
func (r *regression) joint(x *mat.SymDense) *mat.SymDense {
	d := x.SymmetricDim()
	var cross, own mat.Dense
	cross.Mul(x, r.slope.T())
	own.Mul(r.slope, &cross)
	out := mat.NewSymDense(2*d, nil)
	for i := range d {
		for j := range d {
			out.SetSym(i, d+j, cross.At(i, j))
			if j <= i {
				out.SetSym(i, j, x.At(i, j))
				out.SetSym(d+i, d+j, (own.At(i, j)+own.At(j, i))/2+r.cov.At(i, j))
			}
		}
	}
	return out
}

// mean returns E[y|x] at each row of x.
func (r *regression) mean(x *mat.Dense) *mat.Dense {
	out := new(mat.Dense)
	out.Mul(x, r.slope.T())
	out.Apply(func(_, k int, v float64) float64 { return v + r.shift[k] }, out)
	return out
}
